//! Which requests are locked, which pass through, and what the handler can access.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use leasehold::{Error, LockManager};
use leasehold_tower::{LockLayer, Locked, key};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::tools::{behind, done, get, is_free, orders, post, problem, send, status};

#[tokio::test(start_paused = true)]
async fn busy_lock_is_an_immediate_conflict_and_reads_pass() {
    let locks = LockManager::in_process();
    let service = behind(LockLayer::new(locks.clone(), orders()), async |_| done());
    let held = locks.lock("order:7").acquire().await.unwrap();
    let begun = tokio::time::Instant::now();
    let busy = problem(send(&service, post("/orders/7")).await).await;
    assert_eq!(busy, (409, "contended".to_owned()));
    assert_eq!(begun.elapsed(), Duration::ZERO);
    assert_eq!(status(&service, get("/orders/7")).await, 200);
    assert_eq!(status(&service, post("/orders/8")).await, 200);
    held.release().await.unwrap();
    assert_eq!(status(&service, post("/orders/7")).await, 200);
}

#[tokio::test(start_paused = true)]
async fn the_handler_runs_under_the_lock_and_the_next_request_gets_it() {
    let locks = LockManager::in_process();
    let watcher = locks.clone();
    let service = behind(LockLayer::new(locks.clone(), orders()), move |request| {
        let locks = watcher.clone();
        async move {
            let Locked(lock): &Locked = request.extensions().get().unwrap();
            assert_eq!(lock.key(), "order:7");
            assert_eq!(
                locks.inspect("order:7").await.unwrap().token,
                Some(lock.token())
            );
            done()
        }
    });
    for _ in 0..100 {
        // The lock is already released when the response arrives.
        assert_eq!(status(&service, post("/orders/7")).await, 200);
        assert!(is_free(&locks, "order:7").await);
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_chosen_methods_are_locked() {
    let locks = LockManager::in_process();
    let layer = || LockLayer::new(locks.clone(), orders());
    let all = behind(layer().all_methods(), async |_| done());
    let puts = behind(layer().methods([Method::PUT]), async |_| done());
    let _held = locks.lock("order:7").acquire().await.unwrap();
    assert_eq!(status(&all, get("/orders/7")).await, 409);
    assert_eq!(status(&puts, post("/orders/7")).await, 200);
    let mut put = post("/orders/7");
    *put.method_mut() = Method::PUT;
    assert_eq!(status(&puts, put).await, 409);
}

#[tokio::test(start_paused = true)]
async fn safe_http_methods_are_not_locked_by_default() {
    let locks = LockManager::in_process();
    let service = behind(LockLayer::new(locks.clone(), orders()), async |_| done());
    let _held = locks.lock("order:7").acquire().await.unwrap();
    for (method, expected) in [
        (Method::GET, 200),
        (Method::HEAD, 200),
        (Method::OPTIONS, 200),
        (Method::TRACE, 200),
        (Method::POST, 409),
        (Method::PUT, 409),
        (Method::PATCH, 409),
        (Method::DELETE, 409),
        (Method::from_bytes(b"MKCOL").unwrap(), 409),
    ] {
        let mut request = post("/orders/7");
        *request.method_mut() = method.clone();
        assert_eq!(status(&service, request).await, expected, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn nested_acquire_of_the_held_lock_fails_without_a_deadlock() {
    let locks = LockManager::in_process();
    let inner = locks.clone();
    let service = behind(LockLayer::new(locks.clone(), orders()), move |_| {
        let locks = inner.clone();
        async move {
            let nested = locks.lock("order:7").acquire().await;
            assert!(
                matches!(nested, Err(Error::AlreadyHeld { .. })),
                "{nested:?}"
            );
            done()
        }
    });
    assert_eq!(status(&service, post("/orders/7")).await, 200);

    let layer = LockLayer::new(locks, orders()).wait(Duration::MAX);
    let twice = service_fn(async |_| Ok::<_, std::convert::Infallible>(done()));
    let twice = layer.layer(layer.layer(twice));
    let answer = twice.oneshot(post("/orders/7")).await.unwrap();
    assert_eq!(problem(answer).await, (500, "misconfigured".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn invalid_ttl_is_a_server_error_that_names_the_option() {
    let layer = LockLayer::new(LockManager::in_process(), orders()).ttl(Duration::ZERO);
    let service = behind(layer, async |_| done());
    let (status, told) = crate::tools::document(send(&service, post("/orders/7")).await).await;
    assert_eq!(status, 500);
    assert!(told["detail"].as_str().unwrap().contains("ttl"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn closed_manager_refuses_requests_as_unavailable() {
    let locks = LockManager::in_process();
    let service = behind(LockLayer::new(locks.clone(), orders()), async |_| done());
    locks.shutdown().await.unwrap();
    let answer = send(&service, post("/orders/7")).await;
    assert_eq!(answer.headers()["retry-after"], "5");
    assert_eq!(problem(answer).await, (503, "unavailable".to_owned()));
    assert_eq!(status(&service, get("/orders/7")).await, 200);
}

#[tokio::test(start_paused = true)]
async fn rejection_option_replaces_the_response_of_a_refusal() {
    let locks = LockManager::in_process();
    let layer = LockLayer::new(locks.clone(), orders())
        .rejection(|problem| problem.with_status(StatusCode::LOCKED).into_http());
    let service = behind(layer, async |_| done());
    let _held = locks.lock("order:7").acquire().await.unwrap();
    assert_eq!(status(&service, post("/orders/7")).await, 423);
}

/// A service that panics if it is called before it is ready. A clone starts as not ready.
#[derive(Debug)]
struct Careful {
    ready: bool,
    calls: Arc<AtomicUsize>,
}

impl Clone for Careful {
    fn clone(&self) -> Self {
        let calls = Arc::clone(&self.calls);
        Self {
            ready: false,
            calls,
        }
    }
}

impl<R> Service<R> for Careful {
    type Response = http::Response<http_body_util::Full<bytes::Bytes>>;
    type Error = &'static str;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        if self.calls.load(Ordering::SeqCst) == 3 {
            return std::task::Poll::Ready(Err("worn out"));
        }
        self.ready = true;
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: R) -> Self::Future {
        assert!(
            std::mem::take(&mut self.ready),
            "called before it was ready"
        );
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(done()))
    }
}

#[tokio::test(start_paused = true)]
async fn ready_service_is_called_and_its_readiness_error_is_returned() {
    let calls = Arc::default();
    let careful = Careful {
        ready: false,
        calls,
    };
    let mut service = LockLayer::new(LockManager::in_process(), orders()).layer(careful);
    for request in [post("/orders/7"), get("/orders/7"), post("/elsewhere")] {
        let ready = ServiceExt::<http::Request<()>>::ready(&mut service).await;
        ready.unwrap().call(request).await.unwrap();
    }
    let worn_out = ServiceExt::<http::Request<()>>::ready(&mut service).await;
    assert_eq!(worn_out.unwrap_err(), "worn out");
}

#[tokio::test(start_paused = true)]
async fn request_without_a_key_passes_without_a_lock() {
    let locks = LockManager::in_process();
    let nothing = LockLayer::new(locks.clone(), key::from_fn(|_| None));
    let service = behind(nothing, async |request| {
        assert!(request.extensions().get::<Locked>().is_none());
        done()
    });
    assert_eq!(status(&service, post("/orders/7")).await, 200);
}
