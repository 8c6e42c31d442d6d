//! Nodes that are killed, stopped, disconnected or slow.

use std::sync::Arc;
use std::time::Duration;

use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, ReleaseAnswer};
use leasehold::{EndReason, Error, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Traffic, Which};
use tokio::time::{Instant, timeout};

use crate::nodes::{NODE_TIMEOUT, Nodes, SOON, durable, eventually, manager};

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
async fn any_two_of_five_may_fail() {
    for fault in FAULTS {
        let nodes = Nodes::start(5).await;
        let locks = nodes.locks_behind().await;
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
            guard.renew().await.unwrap();
            guard.release().await.unwrap();
            before.renew().await.unwrap();
            before.release().await.unwrap();
            nodes.mend_node(one, fault).await;
            nodes.mend_node(other, fault).await;
            // The nodes get the missed releases when they are back.
            nodes.are_empty("k").await;
            nodes.are_empty("before").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_a_quorum_nothing_is_granted_and_nothing_is_left() {
    for fault in FAULTS {
        let nodes = Nodes::start(5).await;
        let locks = nodes.locks_behind().await;
        drop(locks.lock("k").acquire().await.unwrap());
        nodes.are_empty("k").await;
        for place in [0, 2, 4] {
            nodes.break_node(place, fault).await;
        }
        let started = Instant::now();
        let refused = locks.lock("k").try_acquire().await.unwrap_err();
        let Error::Backend { source, .. } = &refused else {
            panic!("{fault:?}: {refused:?}");
        };
        let text = source.to_string();
        assert!(
            text.starts_with("no quorum: 2 of 5 nodes replied, 3 are needed ("),
            "{text}"
        );
        let port = nodes.proxies[0].port().to_string();
        assert!(text.contains(&port), "{text}");
        // No wait is longer than the timeout of one node.
        assert!(
            started.elapsed() < NODE_TIMEOUT * 5,
            "{:?}",
            started.elapsed()
        );
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
async fn a_failed_renewal_releases_nothing() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.locks_behind().await;
    let ttl = Duration::from_secs(3);
    drop(nodes.held_everywhere(&locks, "warm").await);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    eventually("all have it", async || {
        nodes.values("k").await.iter().all(Option::is_some)
    })
    .await;
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
    let begin = Instant::now();
    guard.renew().await.unwrap();
    for place in 0..3 {
        nodes.break_node(place, Fault::Stopped).await;
    }
    let lost = timeout(SOON, guard.ended()).await.unwrap();
    assert_eq!(lost.reason, EndReason::Expired);
    assert!(begin.elapsed() < ttl, "{:?}", begin.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_release_that_a_minority_confirmed_is_unknown_and_one_that_a_quorum_left_open_is_not() {
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
async fn a_reply_that_is_lost_after_the_grant_leaves_nothing_behind() {
    let nodes = Nodes::start(5).await;
    let locks = nodes.locks_behind().await;
    drop(locks.lock("other").acquire().await.unwrap());
    for lost in 1..=5 {
        for proxy in &nodes.proxies[..lost] {
            proxy.lose_replies(Which::mentioning("lock:k").times(1));
        }
        let guard = locks.lock("k").wait(SOON).acquire().await;
        let guard = guard.unwrap_or_else(|e| panic!("{lost} lost: {e:?}"));
        guard.release().await.unwrap();
        nodes.are_empty("k").await;
        for proxy in &nodes.proxies {
            proxy.pass();
            // After a lost message the connection is silent.
            proxy.cut();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_request_that_comes_after_the_end_takes_nothing() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    drop(locks.lock("other").acquire().await.unwrap());
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
async fn a_majority_says_who_holds_the_lock_and_a_minority_does_not() {
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
async fn nodes_that_are_back_before_anybody_has_looked_are_waited_for() {
    let nodes = Nodes::start(3).await;
    // Much longer than the interval between two checks.
    let locks = manager(durable(nodes.urls_behind()).node_timeout(Duration::from_secs(3))).await;
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
    let prelude = include_str!("../../src/backend/redlock/scripts/prelude.lua");
    let script = redis::Script::new(&format!("{prelude}{script}"));
    script.get_hash().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_late_release_of_a_failed_round_does_not_end_the_next() {
    let nodes = Nodes::start(3).await;
    let locks = nodes.locks_behind().await;
    drop(nodes.held_everywhere(&locks, "warm").await);
    for place in [1, 2] {
        assert!(nodes.occupy(place, 60_000).await);
    }
    let release = include_str!("../../src/backend/redlock/scripts/release.lua");
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
