//! Connections that end or are replaced while no task polls them.

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
use tokio::time::{Instant, sleep, timeout};

use crate::single::server::{Server, waiters};

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
    timeout(Duration::from_secs(60), what).await.expect("soon")
}

/// Returns the id of the connection that receives notifications.
async fn connection(server: &Server) -> String {
    let mut raw = server.raw().await;
    let mut list = redis::cmd("CLIENT");
    list.arg("LIST").arg("TYPE").arg("PUBSUB");
    let list: String = list.query_async(&mut raw).await.unwrap();
    list.split(' ').next().unwrap_or_default().to_owned()
}

/// Ends the only connection that receives notifications.
async fn end_the_connection(server: &Server) {
    let mut raw = server.raw().await;
    let mut kill = redis::cmd("CLIENT");
    kill.arg("KILL").arg("TYPE").arg("PUBSUB");
    let killed: usize = kill.query_async(&mut raw).await.unwrap();
    assert_eq!(killed, 1);
}

#[tokio::test]
async fn an_idle_connection_that_broke_fails_no_request() {
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
fn a_connection_that_ends_with_its_runtime_interrupts_waiters_only() {
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
async fn the_client_reconnects_if_the_server_accepts_no_writes() {
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

/// Makes the first reply about a key arrive on a connection that was already replaced. Returns how many requests named
/// the key.
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
        // Other requests time out, and the connection does not reply to a PING.
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
async fn a_grant_on_an_abandoned_connection_is_requested_again() {
    let server = Server::start().await;
    let ask = async |backend: Arc<Redis>| take(&backend, &attempt("k")).await;
    let (_claim, times) = answered_late(&server, "k", ask).await;
    assert_eq!(times, 2);
}

#[tokio::test]
async fn a_renewal_on_an_abandoned_connection_is_requested_again() {
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
async fn a_grant_whose_replicas_cannot_be_queried_has_an_unknown_outcome() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let synced = Redis::builder().synced(1, Duration::from_millis(100));
    let url = server.inner().url_at(proxy.port());
    let backend = synced.connect(&url).await.unwrap();
    // The wait for replicas uses another connection, which cannot be opened.
    proxy.refuse().await.unwrap();
    let attempt = attempt("k");
    let error = backend.attempt(&attempt).await.unwrap_err();
    assert_eq!(error.applied(), Applied::Unknown, "{error}");
    let seen = backend.inspect(&attempt.key).await.unwrap();
    assert_eq!(seen.owner, Some(attempt.owner.to_string()), "{seen:?}");
    backend.cleanup(&attempt).await.unwrap();
    assert!(backend.inspect(&attempt.key).await.unwrap().is_free());
}

/// Queues a waiter behind `ended` waiters whose runtimes have ended. Returns how long after the release it gets the
/// lock.
fn served_behind(ended: usize) -> Duration {
    // Each runtime has its own thread, as in tests that run in parallel.
    let mut builder = Builder::new_multi_thread();
    let mut runtime = || builder.worker_threads(1).enable_all().build().unwrap();
    let lives = runtime();
    let server = lives.block_on(Server::start());
    let locks = lives.block_on(server.locks());
    let guard = lives.block_on(locks.lock("k").acquire()).unwrap();
    let end: Vec<_> = (1..=ended)
        .map(|n| {
            let ends = runtime();
            ends.spawn(locks.lock("k").acquire());
            ends.block_on(waiters(&locks, n));
            ends
        })
        .collect();
    let behind = lives.spawn(locks.lock("k").acquire());
    lives.block_on(waiters(&locks, ended + 1));
    drop(end);
    lives.block_on(async {
        guard.release().await.unwrap();
        let released = Instant::now();
        let _next = behind.await.unwrap().unwrap();
        released.elapsed()
    })
}

#[test]
fn waiters_that_ended_with_their_runtime_do_not_delay_those_of_another() {
    for ended in [1, 2] {
        let mut all = Vec::new();
        // A busy machine may be late in some rounds.
        while all
            .last()
            .is_none_or(|took| *took >= Duration::from_secs(2))
        {
            assert!(all.len() < 10, "behind {ended}: {all:?}");
            all.push(served_behind(ended));
        }
        println!("behind {ended}: {all:?}");
    }
}

/// Threads whose runtimes end at random points, and one runtime that continues.
#[test]
fn short_lived_runtimes_do_not_block_waiters_and_leave_no_locks() {
    const THREADS: u64 = 4;
    const RUNTIMES: usize = 25;
    let lives = Builder::new_multi_thread().enable_all().build().unwrap();
    let server = lives.block_on(Server::start());
    let locks = lives.block_on(server.locks());
    let threads: Vec<_> = (0..THREADS)
        .map(|seed| {
            let locks = locks.clone();
            std::thread::spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..RUNTIMES {
                    let ends = Builder::new_current_thread().enable_all().build().unwrap();
                    for _ in 0..4 {
                        let (locks, hold) = (locks.clone(), random.u64(0..20));
                        ends.spawn(async move {
                            let guard = locks.lock("k").acquire().await;
                            sleep(Duration::from_millis(hold)).await;
                            drop(guard);
                        });
                    }
                    let lives_for = Duration::from_millis(random.u64(0..30));
                    ends.block_on(async { sleep(lives_for).await });
                }
            })
        })
        .collect();
    let longest = lives.block_on(async {
        let mut longest = Duration::ZERO;
        while threads.iter().any(|it| !it.is_finished()) {
            let begin = Instant::now();
            let guard = soon(locks.lock("k").acquire()).await.unwrap();
            longest = longest.max(begin.elapsed());
            guard.release().await.unwrap();
            sleep(Duration::from_millis(1)).await;
        }
        longest
    });
    println!("the longest wait: {longest:?}");
    // A waiter behind the first one polls after eleven seconds.
    assert!(longest < Duration::from_secs(10), "{longest:?}");
    for thread in threads {
        thread.join().unwrap();
    }
    lives.block_on(waiters(&locks, 0));
    let free = async {
        while !locks.inspect("k").await.unwrap().is_free() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    lives.block_on(soon(free));
}
