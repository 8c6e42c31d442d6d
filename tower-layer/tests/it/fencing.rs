//! Tests a fenced resource in one process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::routing::{MethodRouter, put};
use http::{Request, Response};
use leasehold::{
    AdmitError, FenceStore, FencingToken, InProcessFenceStore, LockManager, RedisFenceStore,
};
use leasehold_sqlx::{SqlFenceStore, ddl};
use leasehold_testkit::servers::RedisServer;
use leasehold_tower::{FenceLayer, FencedToken, SendFencingTokenLayer, key};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower::{Layer, ServiceExt, service_fn};

use crate::events::Log;
use crate::tools::{document, problem};

/// A resource that records its writers. A test can pause a writer after its admission.
#[derive(Clone, Default)]
struct File {
    writers: Arc<Mutex<Vec<i64>>>,
    admitted: Arc<Notify>,
    go_on: Arc<Notify>,
}

impl File {
    fn handler(&self) -> MethodRouter {
        let file = self.clone();
        put(async move |fenced: FencedToken, Path(way): Path<String>| {
            assert_eq!(fenced.resource(), format!("file:{way}"));
            if way == "held" {
                file.admitted.notify_one();
                file.go_on.notified().await;
            }
            file.writers.lock().push(fenced.token().get());
        })
    }

    fn app(
        &self,
        store: impl FenceStore + 'static,
        change: impl Fn(FenceLayer<key::PathKey>) -> FenceLayer<key::PathKey>,
    ) -> Router {
        let layer = change(FenceLayer::new(store, key::path("file:{name}").raw("name")));
        let route = self.handler().get(async || "here");
        Router::new()
            .route("/files/{name}", route)
            .route_layer(layer)
    }

    fn writers(&self) -> Vec<i64> {
        self.writers.lock().clone()
    }
}

fn write(name: &str, token: &str) -> Request<Body> {
    let request = Request::put(format!("/files/{name}")).header("x-fencing-token", token);
    request.body(Body::empty()).unwrap()
}

async fn send(app: &Router, request: Request<Body>) -> Response<Body> {
    app.clone().oneshot(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn admitted_request_ends_before_the_next_and_an_older_token_is_refused() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| {
        layer.queue_timeout(Duration::from_secs(60))
    });
    let older = tokio::spawn(app.clone().oneshot(write("held", "5")));
    file.admitted.notified().await;
    let newer = tokio::spawn(app.clone().oneshot(write("held", "6")));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!newer.is_finished(), "in line");
    // Requests for other resources and reads do not wait in this queue.
    assert_eq!(send(&app, write("other", "1")).await.status(), 200);
    let read = Request::get("/files/held").body(Body::empty()).unwrap();
    assert_eq!(send(&app, read).await.status(), 200);

    file.go_on.notify_one();
    assert_eq!(older.await.unwrap().unwrap().status(), 200);
    file.admitted.notified().await;
    file.go_on.notify_one();
    assert_eq!(newer.await.unwrap().unwrap().status(), 200);
    assert_eq!(file.writers(), [1, 5, 6]);
    let stale = send(&app, write("held", "5")).await;
    assert_eq!(problem(stale).await, (412, "stale".to_owned()));
    assert_eq!(file.writers(), [1, 5, 6]);
}

#[tokio::test(start_paused = true)]
async fn queued_request_with_an_older_token_is_refused() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| layer);
    let newer = tokio::spawn(app.clone().oneshot(write("held", "6")));
    file.admitted.notified().await;
    let older = tokio::spawn(app.clone().oneshot(write("held", "5")));
    tokio::time::sleep(Duration::from_secs(1)).await;
    file.go_on.notify_one();
    assert_eq!(newer.await.unwrap().unwrap().status(), 200);
    let stale = older.await.unwrap().unwrap();
    let (status, told) = document(stale).await;
    assert_eq!(status, 412);
    // The response does not contain the newest token, because a stale client could use it to write.
    assert!(!told.to_string().contains('6'), "{told}");
    assert_eq!(file.writers(), [6]);
}

#[tokio::test]
async fn stale_request_is_logged_with_its_resource_and_tokens() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| layer);
    assert_eq!(send(&app, write("a", "6")).await.status(), 200);
    let log = Log::default();
    let _listening = log.listen();
    assert_eq!(send(&app, write("a", "5")).await.status(), 412);
    let told = log.text();
    let line = told.lines().find(|it| it.contains("leasehold_tower.stale"));
    let line = line.unwrap_or_else(|| panic!("{told}"));
    for part in ["WARN", "file:a", "lock.token=5", "lock.current=6"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

#[tokio::test(start_paused = true)]
async fn request_behind_a_hanging_one_is_refused_after_queue_timeout() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| {
        layer.queue_timeout(Duration::from_secs(2))
    });
    let hanging = tokio::spawn(app.clone().oneshot(write("held", "5")));
    file.admitted.notified().await;
    let begun = tokio::time::Instant::now();
    let refused = send(&app, write("held", "6")).await;
    assert_eq!(problem(refused).await, (409, "contended".to_owned()));
    assert_eq!(begun.elapsed(), Duration::from_secs(2));
    // The client disconnects, so its request is dropped.
    hanging.abort();
    assert!(hanging.await.unwrap_err().is_cancelled());
    let next = tokio::spawn(app.clone().oneshot(write("held", "6")));
    file.admitted.notified().await;
    file.go_on.notify_one();
    assert_eq!(next.await.unwrap().unwrap().status(), 200);
    assert_eq!(file.writers(), [6]);
}

#[tokio::test]
async fn missing_repeated_or_invalid_token_is_refused() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| layer);
    let none = Request::put("/files/a").body(Body::empty()).unwrap();
    let mut twice = write("a", "5");
    twice.headers_mut().append("x-fencing-token", 5.into());
    let (status, told) = document(send(&app, none).await).await;
    assert_eq!(status, 428);
    assert!(
        told["detail"].as_str().unwrap().contains("x-fencing-token"),
        "{told}"
    );
    for bad in [
        twice,
        write("a", "five"),
        write("a", "0"),
        write("a", "-5"),
        write("a", ""),
    ] {
        assert_eq!(
            problem(send(&app, bad).await).await,
            (400, "invalid-token".to_owned())
        );
    }
    assert!(file.writers().is_empty());
}

#[tokio::test]
async fn token_far_in_the_future_is_refused_and_blocks_no_other_request() {
    let file = File::default();
    let store = InProcessFenceStore::new();
    let app = file.app(store, |layer| layer);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now = now.unwrap().as_micros();
    let day = Duration::from_secs(60 * 60 * 24).as_micros();
    for ahead in [i64::MAX.to_string(), (now + day + day).to_string()] {
        let refused = send(&app, write("a", &ahead)).await;
        assert_eq!(problem(refused).await, (400, "invalid-token".to_owned()));
    }
    let own = now.to_string();
    assert_eq!(send(&app, write("a", &own)).await.status(), 200);

    let any = file.app(InProcessFenceStore::new(), |layer| {
        layer.token_lead(Duration::MAX)
    });
    let largest = i64::MAX.to_string();
    assert_eq!(send(&any, write("a", &largest)).await.status(), 200);
}

#[tokio::test(start_paused = true)]
async fn request_above_max_waiters_is_refused() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| layer.max_waiters(2));
    let first = tokio::spawn(app.clone().oneshot(write("held", "5")));
    file.admitted.notified().await;
    let waiting = [6, 7].map(|token| {
        let token = token.to_string();
        tokio::spawn(app.clone().oneshot(write("held", &token)))
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = send(&app, write("held", "8")).await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(problem(refused).await, (503, "too-many-waiters".to_owned()));
    assert_eq!(send(&app, write("other", "1")).await.status(), 200);
    file.go_on.notify_one();
    assert_eq!(first.await.unwrap().unwrap().status(), 200);
    for next in waiting {
        file.admitted.notified().await;
        file.go_on.notify_one();
        assert_eq!(next.await.unwrap().unwrap().status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn queue_of_a_resource_is_limited_to_1024_requests_by_default() {
    let file = File::default();
    let app = file.app(InProcessFenceStore::new(), |layer| layer);
    let first = tokio::spawn(app.clone().oneshot(write("held", "5")));
    file.admitted.notified().await;
    let others: Vec<_> = (0..3_000)
        .map(|_| tokio::spawn(app.clone().oneshot(write("held", "5"))))
        .collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let in_line = others.iter().filter(|it| !it.is_finished()).count();
    assert_eq!(in_line, 1024);
    first.abort();
}

#[tokio::test]
async fn invalid_resource_name_is_refused_before_the_store_is_called() {
    let file = File::default();
    let app = file.app(Down, |layer| layer);
    for bad in ["s3cret%7D", "s3cret%00", &"s3cret".repeat(2_000)] {
        let (status, told) = document(send(&app, write(bad, "5")).await).await;
        assert_eq!(
            (status, &told["type"]),
            (400, &"https://docs.rs/leasehold-tower#invalid-key".into())
        );
        assert!(!told.to_string().contains("s3cret"), "{told}");
    }
}

#[derive(Debug)]
struct Down;

#[async_trait::async_trait]
impl FenceStore for Down {
    async fn admit(&self, resource: &str, _: FencingToken) -> Result<(), AdmitError> {
        Err(AdmitError::Store {
            resource: resource.to_owned(),
            source: "the disk is gone".into(),
        })
    }
}

#[tokio::test]
async fn failed_fence_store_refuses_the_request() {
    let file = File::default();
    let answer = send(&file.app(Down, |layer| layer), write("s3cret", "5")).await;
    assert_eq!(answer.headers()["retry-after"], "5");
    let (status, told) = document(answer).await;
    assert_eq!(
        (status, &told["type"]),
        (503, &"https://docs.rs/leasehold-tower#unavailable".into())
    );
    assert!(!told.to_string().contains("s3cret"), "{told}");
    assert!(file.writers().is_empty());
}

#[tokio::test]
async fn routes_with_one_fence_layer_share_the_last_seen_token() {
    let file = File::default();
    let layer = FenceLayer::new(
        InProcessFenceStore::new(),
        key::path("file:{name}").raw("name"),
    );
    let app = Router::new()
        .route("/files/{name}", file.handler().layer(layer.clone()))
        .route("/copies/{name}", file.handler().layer(layer));
    assert_eq!(send(&app, write("a", "6")).await.status(), 200);
    let copy = Request::put("/copies/a").header("x-fencing-token", "5");
    let stale = send(&app, copy.body(Body::empty()).unwrap()).await;
    assert_eq!(stale.status(), 412);
}

#[tokio::test]
async fn last_seen_token_in_redis_survives_a_restart() {
    let server = RedisServer::builder().keeps_data().start().await.unwrap();
    let file = File::default();
    let store = async || RedisFenceStore::connect(&server.url()).await.unwrap();
    let app = file.app(store().await, |layer| layer);
    assert_eq!(send(&app, write("a", "6")).await.status(), 200);
    server.restart().await.unwrap();
    // Test the process from before the restart, and a new one.
    for app in [app, file.app(store().await, |layer| layer)] {
        assert_eq!(send(&app, write("a", "5")).await.status(), 412);
        assert_eq!(send(&app, write("a", "6")).await.status(), 200);
    }
}

#[tokio::test]
async fn last_seen_token_in_sql_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!(
        "sqlite://{}?mode=rwc",
        dir.path().join("fences.db").display()
    );
    let file = File::default();
    for (token, expected) in [("6", 200), ("5", 412), ("6", 200), ("7", 200), ("6", 412)] {
        let pool = sqlx::SqlitePool::connect(&url).await.unwrap();
        ddl::create_fences(&pool).await.unwrap();
        let app = file.app(SqlFenceStore::new(pool.clone()), |layer| layer);
        assert_eq!(
            send(&app, write("a", token)).await.status(),
            expected,
            "{token}"
        );
        pool.close().await;
    }
    assert_eq!(file.writers(), [6, 6, 7]);
}

#[tokio::test]
async fn a_client_sends_the_token_of_its_lock() {
    let sent = service_fn(async |request: Request<()>| {
        let header = request.headers().get("x-fencing-token");
        Ok::<_, Infallible>(header.map(|it| it.to_str().unwrap().to_owned()))
    });
    let guard = LockManager::in_process()
        .lock("order:7")
        .acquire()
        .await
        .unwrap();
    let own = FencingToken::try_from(7).unwrap();
    let mut with_own = Request::new(());
    with_own.extensions_mut().insert(own);
    with_own.headers_mut().insert("x-fencing-token", 1.into());

    let one_lock = SendFencingTokenLayer::new(&guard.handle()).layer(sent);
    let token = guard.token().to_string();
    assert_eq!(
        one_lock.clone().oneshot(Request::new(())).await.unwrap(),
        Some(token)
    );
    assert_eq!(
        one_lock.clone().oneshot(with_own.clone()).await.unwrap(),
        Some("7".to_owned())
    );
    let many = SendFencingTokenLayer::current().layer(sent);
    assert_eq!(
        many.clone().oneshot(with_own).await.unwrap(),
        Some("7".to_owned())
    );
    assert_eq!(many.clone().oneshot(Request::new(())).await.unwrap(), None);
    let under_the_lock = guard
        .run(async |_| Ok::<_, leasehold::Error>(many.clone().oneshot(Request::new(())).await))
        .await;
    assert_eq!(
        under_the_lock.unwrap().unwrap(),
        Some(guard.token().to_string())
    );
    let spawned = guard.run(async |_| {
        Ok::<_, leasehold::Error>(tokio::spawn(many.oneshot(Request::new(()))).await)
    });
    assert_eq!(spawned.await.unwrap().unwrap().unwrap(), None);
}

#[tokio::test]
async fn grpc_calls_have_the_token_of_the_current_lock() {
    use tonic::service::Interceptor;

    let locks = LockManager::in_process();
    let guard = locks.lock("order:7").acquire().await.unwrap();
    let sent = |mut interceptor: SendFencingTokenLayer| {
        let call = interceptor.call(tonic::Request::new(()))?;
        let token = call.metadata().get("x-fencing-token").cloned();
        Ok::<_, tonic::Status>(token.unwrap().to_str().unwrap().to_owned())
    };
    let current = SendFencingTokenLayer::current();
    let found = guard
        .run(async |_| Ok::<_, leasehold::Error>(sent(current)))
        .await;
    assert_eq!(found.unwrap().unwrap(), guard.token().to_string());
    let own = SendFencingTokenLayer::from(FencingToken::try_from(7).unwrap());
    assert_eq!(sent(own).unwrap(), "7");

    let refused = sent(current).unwrap_err();
    assert_eq!(refused.code(), tonic::Code::FailedPrecondition);
    assert!(
        refused.message().contains("no lock is current"),
        "{refused}"
    );
}
