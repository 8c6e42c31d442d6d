//! Nodes that are killed, stopped, disconnected or slow.

use std::sync::Arc;
use std::time::Duration;

use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, ReleaseAnswer};
use leasehold::{EndReason, Error, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Traffic, Which};
use tokio::time::{Instant, sleep_until, timeout};

use crate::redlock::nodes::{NODE_TIMEOUT, Nodes, SOON, durable, eventually, manager};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Killed,
    Stopped,
    CutOff,
    Late,
}

const FAULTS: [Fault; 4] = [Fault::Killed, Fault::Stopped, Fault::CutOff, Fault::Late];

impl Nodes {
    async fn break_node(&self, place: usize, fault: Fault) {
        let (server, proxy) = (&self.servers[place], &self.proxies[place]);
        match fault {
            Fault::Killed => server.kill(),
            Fault::Stopped => server.pause().unwrap(),
            Fault::CutOff => {
                proxy.refuse().await.unwrap();
                proxy.cut();
            }
            Fault::Late => proxy.set(Direction::ToClient, Traffic::Delay(NODE_TIMEOUT * 3)),
        }
    }

    async fn mend_node(&self, place: usize, fault: Fault) {
        let (server, proxy) = (&self.servers[place], &self.proxies[place]);
        match fault {
            Fault::Killed => server.restart().await.unwrap(),
            Fault::Stopped => server.resume().unwrap(),
            Fault::CutOff => proxy.accept().await.unwrap(),
            Fault::Late => proxy.pass(),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn any_two_of_five_nodes_may_fail() {
    for fault in FAULTS {
        let nodes = Nodes::start(5).await;
        let locks = nodes.hasty_locks_behind().await;
        let mut last = None;
        for (one, other) in (0..5).flat_map(|one| (0..one).map(move |other| (one, other))) {
            // This lock is held before and during the fault.
            let before = nodes.held_everywhere(&locks, "before").await;
            nodes.break_node(one, fault).await;
            nodes.break_node(other, fault).await;
            let guard = locks.lock("k").wait(SOON).acquire().await;
            let guard = guard.unwrap_or_else(|e| panic!("{fault:?} {one} {other}: {e:?}"));
            assert!(Some(guard.token()) > last, "{fault:?} {one} {other}");
            last = Some(guard.token());
            // One of the other nodes may be late.
            eventually("three renew it", async || guard.renew().await.is_ok()).await;
            eventually("three renew it", async || before.renew().await.is_ok()).await;
            // A release that is not confirmed in time is repeated, too.
            let _confirmed = (guard.release().await, before.release().await);
            nodes.mend_node(one, fault).await;
            nodes.mend_node(other, fault).await;
            // The nodes get the missed releases when they are back.
            nodes.are_empty("k").await;
            nodes.are_empty("before").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_a_quorum_nothing_is_granted_and_no_key_is_left() {
    for fault in FAULTS {
        let nodes = Nodes::start(5).await;
        let locks = nodes.hasty_locks_behind().await;
        drop(locks.lock("k").acquire().await.unwrap());
        nodes.are_empty("k").await;
        for place in [0, 2, 4] {
            nodes.break_node(place, fault).await;
        }
        let port = nodes.proxies[0].port().to_string();
        // On a busy machine, one of the two may be late, and so may this task.
        eventually("the other two reply, and no wait is long", async || {
            let started = Instant::now();
            let tried = locks.lock("k").try_acquire().await;
            let took = started.elapsed();
            let source = match tried {
                Err(Error::Backend { source, .. }) => source,
                // A delayed reply may come before a busy machine notices that the timeout has passed.
                Ok(_) if fault == Fault::Late && took >= NODE_TIMEOUT * 3 => return false,
                other => panic!("{fault:?}: {other:?}"),
            };
            let text = source.to_string();
            let has_form = text.starts_with("no quorum: ") && text.contains("3 are needed (");
            assert!(has_form, "{text}");
            // No wait is longer than the timeout of one node.
            text.starts_with("no quorum: 2 of 5 nodes replied, 3 are needed (")
                && text.contains(&port)
                && took < NODE_TIMEOUT * 5
        })
        .await;
        // The nodes that answered get the cleanup immediately, the others when they are back.
        eventually("the two have nothing", async || {
            let mut left = false;
            for place in [1, 3] {
                let mut exists = redis::cmd("EXISTS");
                exists.arg("lock:k");
                let there: bool = exists
                    .query_async(&mut nodes.raw(place).await)
                    .await
                    .unwrap();
                left |= there;
            }
            !left
        })
        .await;
        for place in [0, 2, 4] {
            nodes.mend_node(place, fault).await;
        }
        nodes.are_empty("k").await;
        let guard = locks.lock("k").wait(SOON).acquire().await.unwrap();
        guard.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_failed_renewal_does_not_release_the_lock() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.hasty_locks_behind().await;
    let ttl = Duration::from_secs(8);
    let guard = nodes.granted_by_all("k", &locks.lock("k").ttl(ttl)).await;
    for place in 0..3 {
        nodes.break_node(place, Fault::Stopped).await;
    }
    let failed = guard.renew().await.unwrap_err();
    assert!(failed.to_string().contains("k"), "{failed}");
    assert!(guard.is_valid());
    for place in 0..3 {
        nodes.mend_node(place, Fault::Stopped).await;
    }
    eventually("it is renewed again", async || guard.renew().await.is_ok()).await;
    assert!(nodes.values("k").await.iter().all(Option::is_some));
    // Break the nodes permanently. The lock is lost at its deadline, and not before.
    for place in 0..3 {
        nodes.break_node(place, Fault::Stopped).await;
    }
    // No later renewal has a majority.
    let (deadline, ended) = (Instant::now() + ttl, guard.ended());
    sleep_until(deadline).await;
    assert!(!guard.is_valid());
    let lost = timeout(SOON, ended).await.unwrap();
    assert_eq!(lost.reason, EndReason::Expired);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_release_is_unknown_without_a_quorum_of_replies_and_known_with_one() {
    let nodes = Nodes::start(3).await;
    let redlock = Arc::new(durable(nodes.urls_behind()).connect().await.unwrap());
    let locks = LockManager::new(Arc::clone(&redlock));
    let held = async || {
        drop(nodes.held_everywhere(&locks, "warm").await);
        let attempt = Attempt::new(Key::new("lock:", "k").unwrap(), SOON, false);
        let AttemptAnswer::Granted { token, .. } = redlock.attempt(&attempt).await.unwrap() else {
            panic!("nobody has it");
        };
        eventually("all have it", async || {
            nodes.values("k").await.iter().all(Option::is_some)
        })
        .await;
        attempt.claim(token)
    };
    let claim = held().await;
    for place in [0, 1] {
        nodes.break_node(place, Fault::CutOff).await;
    }
    let unknown = redlock.release(&claim).await.unwrap_err();
    assert_eq!(unknown.applied(), Applied::Unknown, "{unknown}");
    for place in [0, 1] {
        nodes.mend_node(place, Fault::CutOff).await;
    }
    nodes.are_empty("k").await;
    // One node confirms the release, one does not hold the lock, and one does not answer. So a majority may have held
    // the lock until the end.
    let claim = held().await;
    nodes.vacate(0).await;
    nodes.break_node(1, Fault::CutOff).await;
    let released = redlock.release(&claim).await.unwrap();
    assert_eq!(released, ReleaseAnswer::Released);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reply_lost_after_the_grant_leaves_no_key() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.hasty_locks_behind().await;
    drop(locks.lock("other").acquire().await.unwrap());
    for lost in 1..=5 {
        for proxy in &nodes.proxies[..lost] {
            proxy.lose_replies(Which::mentioning("lock:k").times(1));
        }
        let guard = locks.lock("k").wait(SOON).acquire().await;
        let guard = guard.unwrap_or_else(|e| panic!("{lost} lost: {e:?}"));
        // If a majority is late, the release is repeated.
        let _confirmed = guard.release().await;
        nodes.are_empty("k").await;
        for proxy in &nodes.proxies {
            proxy.pass();
            // After a lost message the connection is silent.
            proxy.cut();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_delivered_after_the_cleanup_acquires_nothing() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    drop(nodes.held_everywhere(&locks, "other").await);
    for proxy in &nodes.proxies {
        proxy.hold_requests(Which::mentioning("lock:k").times(1));
    }
    let acquire = tokio::spawn(locks.lock("k").acquire());
    for proxy in &nodes.proxies {
        proxy
            .until("it is held", |seen| seen.held >= 1)
            .await
            .unwrap();
    }
    acquire.abort();
    drop(acquire.await);
    // The cleanup uses new connections.
    nodes
        .proxies
        .iter()
        .for_each(leasehold_testkit::proxy::Proxy::cut);
    eventually("all are sealed", async || {
        let mut sealed = 0;
        for place in 0..3 {
            let mut keys = redis::cmd("KEYS");
            keys.arg("*sealed*");
            let keys: Vec<String> = keys.query_async(&mut nodes.raw(place).await).await.unwrap();
            sealed += usize::from(!keys.is_empty());
        }
        sealed == 3
    })
    .await;
    for proxy in &nodes.proxies {
        proxy.deliver_held().await.unwrap();
    }
    assert_eq!(nodes.values("k").await, [None, None, None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn inspect_returns_the_holder_only_with_a_majority() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    let guard = nodes.held_everywhere(&locks, "k").await;
    nodes.break_node(0, Fault::CutOff).await;
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(guard.token()));
    nodes.break_node(1, Fault::CutOff).await;
    locks.inspect("k").await.unwrap_err();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_acquire_waits_for_nodes_that_are_back_before_the_next_probe() {
    let nodes = Nodes::start(3).await;
    // Much longer than the interval between two checks.
    let locks = manager(durable(nodes.urls_behind()).node_timeout(Duration::from_secs(5))).await;
    let guard = nodes.held_everywhere(&locks, "warm").await;
    for place in [0, 1] {
        nodes.break_node(place, Fault::CutOff).await;
    }
    guard.renew().await.unwrap_err();
    for place in [0, 1] {
        nodes.mend_node(place, Fault::CutOff).await;
    }
    let granted = locks.lock("k").try_acquire().await.unwrap();
    assert!(granted.is_some());
}

/// Returns the hash by which the nodes call a script.
fn hash_of(script: &str) -> String {
    let prelude = include_str!("../../../src/redlock/scripts/prelude.lua");
    let script = redis::Script::new(&format!("{prelude}{script}"));
    script.get_hash().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_release_of_a_failed_round_does_not_end_the_next_grant() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    let warm = nodes.held_everywhere(&locks, "warm").await;
    warm.release().await.unwrap();
    // No release of this lock may be held back below.
    nodes.are_empty("warm").await;
    for place in [1, 2] {
        assert!(nodes.occupy(place, 600_000).await);
    }
    let release = include_str!("../../../src/redlock/scripts/release.lua");
    nodes.proxies[0].hold_requests(Which::mentioning(hash_of(release)).times(1));
    let waiting = tokio::spawn(locks.lock("k").wait(SOON).acquire());
    let held = nodes.proxies[0].until("the release is held", |seen| seen.held >= 1);
    held.await.unwrap();
    // The release is repeated on a new connection, while the first copy is still in flight.
    nodes.proxies[0].cut();
    eventually("the first round has nothing left", async || {
        nodes.values("k").await[0].is_none()
    })
    .await;
    // The third node stays occupied, so the next round needs the first one.
    nodes.vacate(1).await;
    let guard = waiting.await.unwrap().unwrap();
    nodes.proxies[0].deliver_held().await.unwrap();
    let values = nodes.values("k").await;
    assert!(values[0].is_some() && values[0] == values[1], "{values:?}");
    guard.release().await.unwrap();
    nodes.vacate(2).await;
    nodes.are_empty("k").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_release_that_overtakes_a_grant_is_sent_again() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    // The client has not queried the time of this node yet, so it queries the time before the lock.
    nodes.proxies[2].set(Direction::ToClient, Traffic::Delay(NODE_TIMEOUT / 4));
    let guard = locks.lock("k").acquire().await.unwrap();
    guard.release().await.unwrap();
    let requests = nodes.proxies[2].until("the grant has come", |seen| {
        seen.held == 0 && seen.requests >= 3
    });
    requests.await.unwrap();
    tokio::time::sleep(NODE_TIMEOUT).await;
    nodes.are_empty("k").await;
}
