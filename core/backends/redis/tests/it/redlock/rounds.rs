//! The steps of the algorithm.

use std::time::Duration;

use leasehold::backend::redlock::Redlock;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold::{ConnectError, Error, InvalidOption, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Traffic};
use tokio::time::{Instant, sleep, timeout};

use crate::redlock::nodes::{NODE_TIMEOUT, Nodes, SOON, durable, eventually, manager, refused};

#[tokio::test]
async fn all_nodes_store_the_same_key_and_value_until_the_release() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.locks().await;
    let lock = locks.lock("k").ttl(Duration::from_secs(60));
    let guard = nodes.granted_by_all("k", &lock).await;
    let values = nodes.values("k").await;
    assert!(values.iter().all(|it| it == &values[0]), "{values:?}");
    for place in 0..5 {
        let mut pttl = redis::cmd("PTTL");
        pttl.arg("lock:k");
        let left: u64 = pttl.query_async(&mut nodes.raw(place).await).await.unwrap();
        assert!((30_000..=60_000).contains(&left), "{left}");
        let mut get = redis::cmd("GET");
        get.arg("{lock:k}:lh1:fence");
        let record: String = get.query_async(&mut nodes.raw(place).await).await.unwrap();
        assert_eq!(record.split(' ').next(), Some(&*guard.token().to_string()));
    }
    guard.release().await.unwrap();
    nodes.are_empty("k").await;
}

#[tokio::test]
async fn a_majority_of_all_nodes_is_needed() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.locks().await;
    drop(nodes.held_everywhere(&locks, "warm").await);
    for taken in 0..=5 {
        for place in 0..taken {
            assert!(nodes.occupy(place, 600_000).await);
        }
        let granted = locks.lock("k").try_acquire().await.unwrap();
        assert_eq!(granted.is_some(), taken <= 2, "{taken} taken");
        if let Some(guard) = granted {
            guard.release().await.unwrap();
        }
        // The values of other programs stay, and all values of this client are removed.
        eventually("only the other's is left", async || {
            let values = nodes.values("k").await;
            let (theirs, ours) = values.split_at(taken);
            theirs.iter().all(|it| it.as_deref() == Some("somebody"))
                && ours.iter().all(Option::is_none)
        })
        .await;
        for place in 0..taken {
            nodes.vacate(place).await;
        }
    }
}

#[tokio::test]
async fn other_programs_that_lock_a_majority_are_excluded() {
    let nodes = Nodes::start(5).await;
    let guard = nodes.locks().await.lock("k").acquire().await.unwrap();
    let mut taken = 0;
    for place in 0..5 {
        taken += u32::from(nodes.occupy(place, 600_000).await);
    }
    assert!(taken <= 2, "{taken}");
    assert!(guard.is_valid());
}

#[tokio::test]
async fn the_time_of_the_round_is_subtracted_from_the_lease() {
    let nodes = Nodes::start(5).await;
    let locks = manager(durable(nodes.urls_behind()).node_timeout(Duration::from_secs(5))).await;
    drop(locks.lock("warm").acquire().await.unwrap());
    let (late, ttl) = (Duration::from_millis(300), Duration::from_secs(30));
    for proxy in &nodes.proxies {
        proxy.set(Direction::ToClient, Traffic::Delay(late));
    }
    let begin = Instant::now();
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    assert!(begin.elapsed() >= late);
    let (left, elapsed) = (guard.valid_for(), begin.elapsed());
    assert!(
        left <= ttl - late && left + late <= ttl,
        "{left:?} after {elapsed:?}"
    );
    nodes
        .proxies
        .iter()
        .for_each(leasehold_testkit::proxy::Proxy::pass);
}

#[tokio::test]
async fn late_replies_of_two_of_three_nodes_give_no_majority_and_no_lock() {
    let nodes = Nodes::start(3).await;
    let locks = manager(durable(nodes.urls_behind()).node_timeout(NODE_TIMEOUT)).await;
    drop(locks.lock("warm").acquire().await.unwrap());
    // The granted leases are over when the answers arrive, and the client has already given up.
    for proxy in &nodes.proxies[1..] {
        proxy.set(
            Direction::ToClient,
            Traffic::Delay(Duration::from_millis(1_200)),
        );
    }
    let refused = locks
        .lock("k")
        .ttl(Duration::from_secs(1))
        .try_acquire()
        .await;
    assert!(
        matches!(refused, Err(Error::Backend { .. }) | Ok(None)),
        "{refused:?}"
    );
    nodes
        .proxies
        .iter()
        .for_each(leasehold_testkit::proxy::Proxy::pass);
    nodes.are_empty("k").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn competing_managers_all_acquire_one_after_another() {
    let nodes = Nodes::start(5).await;
    let mut rivals = Vec::new();
    for _ in 0..6 {
        rivals.push(nodes.locks().await);
    }
    for _ in 0..5 {
        let mut waiting = tokio::task::JoinSet::new();
        let inside = std::sync::Arc::new(tokio::sync::Mutex::new(()));
        for locks in &rivals {
            let (lock, inside) = (locks.lock("k").wait(SOON), inside.clone());
            waiting.spawn(async move {
                let guard = lock.acquire().await.unwrap();
                let alone = inside.try_lock();
                assert!(alone.is_ok(), "two hold it");
                sleep(Duration::from_millis(2)).await;
                drop(alone);
                let token = guard.token();
                guard.release().await.unwrap();
                token
            });
        }
        let mut tokens = waiting.join_all().await;
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), rivals.len());
    }
    nodes.are_empty("k").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_released_lock_is_reserved_for_the_notified_waiter() {
    let nodes = Nodes::start(5).await;
    let (locks, waiting) = (nodes.locks().await, nodes.redlock().await);
    let (mut swift, mut overtaken) = (0, 0);
    for round in 0..500 {
        if swift == 10 {
            break;
        }
        let name = format!("k{round}");
        let guard = locks.lock(&name).wait(SOON).acquire().await.unwrap();
        // This waiter is notified, but sends no request.
        let key = Key::new("lock:", &name).unwrap();
        let waiter = Attempt::new(key, Duration::from_secs(30), true);
        let busy = waiting.attempt(&waiter).await.unwrap();
        assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}");
        let begin = Instant::now();
        guard.release().await.unwrap();
        let taken = locks.lock(&name).try_acquire().await.unwrap();
        // The lock is kept for the waiter for a tenth of a second. A round of a busy machine that takes longer says
        // nothing.
        if begin.elapsed() < Duration::from_millis(80) {
            swift += 1;
            overtaken += usize::from(taken.is_some());
        }
        drop(taken);
        drop(locks.lock(&name).wait(SOON).acquire().await.unwrap());
    }
    // A late node does not reserve the lock.
    assert!(swift == 10 && overtaken <= 3, "{overtaken} of {swift}");
}

#[tokio::test]
async fn without_a_possible_majority_the_retry_time_exceeds_the_round_time() {
    let nodes = Nodes::start(4).await;
    let redlock = durable(nodes.urls_behind()).connect().await.unwrap();
    for place in [0, 1] {
        assert!(nodes.occupy(place, 600_000).await);
        // By then the other nodes have granted the lock.
        let late = Traffic::Delay(Duration::from_millis(20));
        nodes.proxies[place].set(Direction::ToClient, late);
    }
    let key = Key::new("lock:", "k").unwrap();
    // Repeated, because a busy machine may be late. If a majority were possible, the retry time would be a second.
    eventually("it is told to come soon", async || {
        let begin = Instant::now();
        let attempt = Attempt::new(key.clone(), Duration::from_secs(30), false);
        match redlock.attempt(&attempt).await.unwrap() {
            AttemptAnswer::Busy { retry_after } => {
                retry_after < Duration::from_secs(1) && retry_after > begin.elapsed()
            }
            other => panic!("two of four are held by another: {other:?}"),
        }
    })
    .await;
}

#[tokio::test]
async fn one_server_has_only_one_vote_under_any_name() {
    let nodes = Nodes::start(2).await;
    let ports = [0, 1].map(|it| nodes.servers[it].port());
    let named = |host, it: usize| format!("redis://{host}:{}", ports[it]);
    let twins = vec![named("127.0.0.1", 0), named("localhost", 0)];
    let twins = refused(&durable(twins)).await;
    assert!(in_words(&twins).contains("are one server"), "{twins:?}");
    let fresh = Redlock::new([named("127.0.0.1", 0), named("localhost", 0)]);
    let fresh = refused(&fresh).await;
    assert!(in_words(&fresh).contains("are one server"), "{fresh:?}");
    let two = vec![named("127.0.0.1", 0), named("localhost", 1)];
    drop(durable(two).connect().await.unwrap());
}

#[tokio::test]
async fn waiters_are_notified_by_the_nodes() {
    let nodes = Nodes::start(5).await;
    let (here, there) = (nodes.locks().await, nodes.locks().await);
    // A node that is down sends no notification, and is not needed.
    nodes.servers[1].kill();
    let guard = here.lock("k").acquire().await.unwrap();
    let waiting: Vec<_> = (0..4)
        .map(|_| tokio::spawn(there.lock("k").wait(SOON).acquire()))
        .collect();
    eventually("all wait", async || {
        there.inspect("k").await.is_ok_and(|it| it.waiting == 4)
    })
    .await;
    let begin = Instant::now();
    guard.release().await.unwrap();
    for waiting in waiting {
        drop(waiting.await.unwrap().unwrap());
    }
    // Without notifications, the first waiter polls after one second, and the others poll after eleven seconds.
    assert!(
        begin.elapsed() < Duration::from_secs(9),
        "{:?}",
        begin.elapsed()
    );
    nodes.servers[1].restart().await.unwrap();
}

#[tokio::test]
async fn unsupported_modes_and_ttls_are_refused_before_anything_is_sent() {
    let nodes = Nodes::start(3).await;
    let redlock = durable(nodes.urls()).node_timeout(NODE_TIMEOUT);
    let redlock = redlock.max_ttl(Duration::from_secs(9)).connect().await;
    let locks = LockManager::new(redlock.unwrap());
    let shared = locks
        .rw_lock("k")
        .read()
        .ttl(Duration::from_secs(5))
        .acquire()
        .await
        .unwrap_err();
    assert!(matches!(shared, Error::Unsupported { .. }), "{shared:?}");
    let permits = locks
        .semaphore("k", 3)
        .ttl(Duration::from_secs(5))
        .acquire()
        .await
        .unwrap_err();
    assert!(matches!(permits, Error::Unsupported { .. }), "{permits:?}");
    let long = locks
        .lock("k")
        .ttl(Duration::from_secs(10))
        .acquire()
        .await
        .unwrap_err();
    assert_eq!(
        long.to_string(),
        "ttl is 10s, which is too long; give at most 9s"
    );
    let short = locks
        .lock("k")
        .ttl(Duration::from_millis(899))
        .acquire()
        .await
        .unwrap_err();
    assert!(short.to_string().contains("give at least 900ms"), "{short}");
    assert_eq!(nodes.values("k").await, [None, None, None]);
}

#[tokio::test]
async fn one_url_names_all_nodes() {
    let nodes = Nodes::start(3).await;
    let ports = nodes
        .servers
        .iter()
        .map(|it| format!("127.0.0.1:{}", it.port()));
    let url = format!("redlock://{}/0", ports.collect::<Vec<_>>().join(","));
    let locks = LockManager::connect(&url).await.unwrap();
    // The nodes are new, and do not vote for a minute.
    let refused = locks.lock("k").try_acquire().await.unwrap_err();
    assert!(in_words(&refused).contains("votes again in"), "{refused:?}");
    let url = url.replace("/0", "/nonsense");
    assert!(matches!(
        LockManager::connect(&url).await,
        Err(Error::Connect(ConnectError::Url { .. }))
    ));
}

#[tokio::test]
async fn a_failed_connect_returns_the_reason() {
    let nodes = Nodes::start(3).await;
    let urls = nodes.urls();
    let error = |result: Result<Redlock, Error>| result.unwrap_err();
    let twice = [0, 1, 0].map(|it| urls[it].clone()).to_vec();
    let twice = error(durable(twice).connect().await);
    assert!(in_words(&twice).contains("twice"), "{twice:?}");
    let none = error(durable(Vec::new()).connect().await);
    assert!(in_words(&none).contains("0 nodes were given"), "{none:?}");
    let most = Duration::from_secs(3);
    let slow = durable(urls.clone())
        .max_ttl(most)
        .node_timeout(most)
        .connect()
        .await
        .unwrap_err();
    assert!(
        matches!(
            slow,
            Error::Connect(ConnectError::Option {
                source: InvalidOption::TooLong {
                    option: "node_timeout",
                    ..
                }
            })
        ),
        "{slow:?}"
    );
    nodes.servers[0].pause().unwrap();
    // Connecting does not wait for the full timeout of a silent node.
    let soon = timeout(Duration::from_secs(4), durable(urls.clone()).connect());
    drop(soon.await.unwrap().unwrap());
    nodes.servers[0].kill();
    nodes.servers[1].kill();
    let alone = durable(urls.clone()).connect().await.unwrap_err();
    let told = alone.to_string();
    assert!(
        told.starts_with("connected to 1 of 3 nodes, but 2 are needed: ")
            && told.contains("connection refused at"),
        "{told}"
    );
    assert!(matches!(
        alone,
        Error::Connect(ConnectError::NoQuorum {
            reached: 1,
            needed: 2,
            nodes: 3,
            ..
        })
    ));
}

/// Returns an error with its causes as text.
pub(crate) fn in_words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(|it| format!("{it}: ")).collect()
}
