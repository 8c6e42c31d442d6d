//! Connections that end, or are given up, while nobody looks.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::poll;
use leasehold::Key;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, Claim, RenewAnswer};
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

use crate::server::Server;

const TTL: Duration = Duration::from_secs(30);

fn attempt(name: &str) -> Attempt {
    Attempt::new(Key::new("lock:", name).unwrap(), TTL, false)
}

async fn take(backend: &Redis, attempt: &Attempt) -> Claim {
    let answer = backend.attempt(attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}");
    };
    attempt.claim(token)
}

async fn soon<T>(what: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(20), what).await.expect("soon")
}

/// Which connection the server tells of wake-ups.
async fn connection(server: &Server) -> String {
    let mut raw = server.raw().await;
    let mut list = redis::cmd("CLIENT");
    list.arg("LIST").arg("TYPE").arg("PUBSUB");
    let list: String = list.query_async(&mut raw).await.unwrap();
    list.split(' ').next().unwrap_or_default().to_owned()
}

/// Ends the only connection that is told of wake-ups.
async fn end_the_connection(server: &Server) {
    let mut raw = server.raw().await;
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("PUBSUB");
    let killed: usize = kill.query_async(&mut raw).await.unwrap();
    assert_eq!(killed, 1);
}

#[tokio::test]
async fn a_connection_that_broke_while_nobody_used_it_costs_no_request() {
    let server = Server::start().await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    let first = take(&backend, &attempt("first")).await;
    end_the_connection(&server).await;
    let interruptions = soon(backend.interrupted(0)).await;
    assert_eq!(interruptions, 1);
    take(&backend, &attempt("second")).await;
    assert_eq!(soon(backend.interrupted(1)).await, 2);
    end_the_connection(&server).await;
    assert_eq!(soon(backend.interrupted(2)).await, 3);
    let answers = backend.renew(&[first]).await;
    assert!(
        matches!(&*answers, [Ok(RenewAnswer::Extended { .. })]),
        "{answers:?}"
    );
}

#[test]
fn a_connection_that_ended_with_its_runtime_costs_no_request_and_waiters_are_told() {
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let (lives, ends) = (runtime(), runtime());
    let server = lives.block_on(Server::start());
    let backend = ends.block_on(async {
        let backend = Redis::connect(&server.url()).await.unwrap();
        take(&backend, &attempt("first")).await;
        backend
    });
    lives.block_on(async {
        let mut told = Box::pin(backend.interrupted(0));
        assert!(poll!(&mut told).is_pending());
        ends.shutdown_background();
        soon(told).await;
        take(&backend, &attempt("second")).await;
    });
}

#[tokio::test]
async fn a_server_that_takes_no_writes_is_left_and_asked_anew() {
    let server = Server::start().await;
    let backend = Redis::connect(&server.url()).await.unwrap();
    take(&backend, &attempt("first")).await;
    let before = connection(&server).await;
    let replica_of = async |host: &str, port: &str| {
        let mut raw = server.raw().await;
        let mut follow = redis::cmd("REPLICAOF");
        let () = follow
            .arg(host)
            .arg(port)
            .query_async(&mut raw)
            .await
            .unwrap();
    };
    replica_of("127.0.0.1", "1").await;
    let refused = async {
        loop {
            let error = backend.attempt(&attempt("second")).await.unwrap_err();
            assert_eq!(error.applied(), Applied::No, "{error}");
            let now = connection(&server).await;
            if !now.is_empty() && now != before {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    soon(refused).await;
    replica_of("NO", "ONE").await;
    take(&backend, &attempt("second")).await;
}

/// Has what is asked about a key first answered on a connection that has been given up by then, and says how often
/// the key was spoken of.
async fn answered_late<T>(
    server: &Server,
    name: &str,
    ask: impl AsyncFnOnce(Arc<Redis>) -> T,
) -> (T, usize) {
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let backend = Arc::new(Redis::connect(&url).await.unwrap());
    take(&backend, &attempt("first")).await;
    let (times, key) = (Arc::new(AtomicUsize::new(0)), format!("lock:{name}"));
    let counted = Arc::clone(&times);
    proxy.lose_replies(Which::matching(move |command| {
        let is_about_it = command.mentions(key.as_bytes());
        counted.fetch_add(usize::from(is_about_it), Ordering::SeqCst);
        false
    }));
    proxy.hold_requests(Which::mentioning(format!("lock:{name}")).times(1));
    let deliver = async {
        let held = proxy.until("it is held", |seen| seen.held > 0);
        held.await.unwrap();
        // Others lose patience, and the connection leaves a PING unanswered.
        let other = Key::new("lock:", "other").unwrap();
        let another_connection = async {
            let patience = Duration::from_millis(50);
            while timeout(patience, backend.inspect(&other)).await.is_err() {}
        };
        soon(another_connection).await;
        assert_eq!(soon(backend.interrupted(0)).await, 1);
        proxy.deliver_held().await.unwrap();
    };
    let (answer, ()) = tokio::join!(soon(ask(Arc::clone(&backend))), deliver);
    (answer, times.load(Ordering::SeqCst))
}

#[tokio::test]
async fn what_is_granted_on_a_connection_that_was_given_up_is_asked_for_again() {
    let server = Server::start().await;
    let ask = async |backend: Arc<Redis>| take(&backend, &attempt("k")).await;
    let (_claim, times) = answered_late(&server, "k", ask).await;
    assert_eq!(times, 2);
}

#[tokio::test]
async fn what_is_renewed_on_a_connection_that_was_given_up_is_renewed_again() {
    let server = Server::start().await;
    let direct = Redis::connect(&server.url()).await.unwrap();
    let claim = take(&direct, &attempt("k")).await;
    let ask = async |backend: Arc<Redis>| backend.renew(&[claim]).await;
    let (answers, times) = answered_late(&server, "k", ask).await;
    let [Ok(RenewAnswer::Extended { .. })] = &*answers else {
        panic!("{answers:?}");
    };
    assert!(times >= 2, "{times}");
}

#[tokio::test]
async fn a_grant_about_which_no_replica_could_be_asked_may_stand_and_costs_no_connection() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let synced = Redis::builder().synced(1, Duration::from_millis(100));
    let url = server.inner().url_at(proxy.port());
    let backend = synced.connect(&url).await.unwrap();
    // Replicas are waited for on another connection, and none can be made.
    proxy.refuse().await.unwrap();
    let attempt = attempt("k");
    let error = backend.attempt(&attempt).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error}");
    let seen = backend.inspect(&attempt.key).await.unwrap();
    assert_eq!(seen.owner, Some(attempt.owner.to_string()), "{seen:?}");
    backend.cleanup(&attempt).await.unwrap();
    assert!(backend.inspect(&attempt.key).await.unwrap().is_free());
}
