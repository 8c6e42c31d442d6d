//! Nodes that lose their data, and clocks that jump. The lock then has two holders, and the fence refuses the older
//! one.

use std::time::Duration;

use leasehold::backend::redlock::Redlock;
use leasehold::{AdmitError, FenceStore, InProcessFenceStore, Stale};
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::proxy::{Direction, Traffic};
use tokio::time::{Instant, sleep};

use crate::redlock::nodes::{Nodes, SOON, eventually, manager_with_ttl};

/// Writes to a resource that stores the last seen token.
async fn write(store: &InProcessFenceStore, guard: &leasehold::LockGuard) -> Result<(), Stale> {
    match store.admit("row", guard.token()).await {
        Ok(()) => Ok(()),
        Err(AdmitError::Stale(stale)) => Err(stale),
        Err(other) => panic!("{other:?}"),
    }
}

/// Disconnects a manager from two of five nodes.
async fn cut_off(nodes: &Nodes, places: [usize; 2]) {
    for place in places {
        nodes.proxies[place].refuse().await.unwrap();
        nodes.proxies[place].cut();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_clock_jump_permits_two_holders_and_the_fence_refuses_the_older() {
    let clock = ClockShim::off_by(0).unwrap();
    let nodes = Nodes::with(5, |place, node| {
        if place == 2 {
            node.wearing(&clock)
        } else {
            node
        }
    })
    .await;
    let store = InProcessFenceStore::new();
    // The first manager holds A, B and C, and is disconnected from D and E.
    let first = nodes.locks_behind().await;
    cut_off(&nodes, [3, 4]).await;
    let first = first.lock("k").acquire().await.unwrap();
    write(&store, &first).await.unwrap();
    assert!(
        nodes
            .locks()
            .await
            .lock("k")
            .try_acquire()
            .await
            .unwrap()
            .is_none()
    );
    clock.set(31).unwrap();
    let second = nodes
        .locks()
        .await
        .lock("k")
        .wait(SOON)
        .acquire()
        .await
        .unwrap();
    assert!(first.is_valid(), "the hole would have been closed");
    assert!(second.token() > first.token());
    write(&store, &second).await.unwrap();
    let stale = write(&store, &first).await.unwrap_err();
    assert_eq!(
        (stale.token, stale.current),
        (first.token(), second.token())
    );
}

/// Returns a guard that holds A, B and C, after C was restarted without data.
async fn restarted_empty() -> (Nodes, leasehold::LockGuard) {
    let nodes = Nodes::start(5).await;
    let first = nodes.locks_behind().await;
    cut_off(&nodes, [3, 4]).await;
    let first = first.lock("k").acquire().await.unwrap();
    nodes.servers[2].restart_empty().await.unwrap();
    (nodes, first)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_falsely_durable_node_permits_two_holders_and_the_fence_refuses_one() {
    let (nodes, first) = restarted_empty().await;
    let store = InProcessFenceStore::new();
    write(&store, &first).await.unwrap();
    let second = nodes
        .locks()
        .await
        .lock("k")
        .wait(SOON)
        .acquire()
        .await
        .unwrap();
    assert!(first.is_valid(), "the hole would have been closed");
    assert!(second.token() > first.token());
    write(&store, &second).await.unwrap();
    assert!(write(&store, &first).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_restarted_node_has_no_vote_until_the_locks_it_lost_have_expired() {
    // On a busy machine, a start or a restart may take longer than the leases. Such a round says nothing.
    for _ in 0..10 {
        if lost_locks_expire_before_a_vote().await {
            return;
        }
    }
    panic!("the servers start too slowly each time");
}

/// Returns false if the servers started too slowly for the leases.
async fn lost_locks_expire_before_a_vote() -> bool {
    let max_ttl = Duration::from_secs(4);
    let settings = |urls| {
        Redlock::new::<String>(urls)
            .node_timeout(Duration::from_millis(500))
            .max_ttl(max_ttl)
            .clock_difference(Duration::from_secs(1))
    };
    let started = Instant::now();
    let nodes = Nodes::start(5).await;
    // Five new nodes do not vote either.
    let new = manager_with_ttl(settings(nodes.urls()), max_ttl).await;
    let new = new.lock("k").ttl(max_ttl).try_acquire().await;
    if started.elapsed() >= max_ttl {
        return false;
    }
    let refused = format!("{:?}", new.unwrap_err());
    assert!(
        refused.contains("no quorum: 0 of 5") && refused.contains("votes again in"),
        "{refused}"
    );
    let (behind, beside) = (
        manager_with_ttl(settings(nodes.urls_behind()), max_ttl).await,
        manager_with_ttl(settings(nodes.urls()), max_ttl).await,
    );
    let votes = async || {
        let elected = beside.lock("other").ttl(max_ttl).try_acquire().await;
        elected.is_ok_and(|it| it.is_some())
    };
    eventually("all vote", votes).await;
    sleep(Duration::from_secs(1)).await;
    cut_off(&nodes, [3, 4]).await;
    let first = behind.lock("k").ttl(max_ttl).acquire().await.unwrap();
    nodes.servers[2].restart_empty().await.unwrap();
    let restarted = Instant::now();
    // Two nodes still hold the lock, two never held it, and the fifth would grant it a second time.
    let mut second = None;
    while first.is_valid() {
        second = beside
            .lock("k")
            .ttl(max_ttl)
            .try_acquire()
            .await
            .unwrap_or(None);
        assert!(second.is_none(), "granted after {:?}", restarted.elapsed());
        sleep(Duration::from_millis(20)).await;
    }
    let is_meaningful = restarted.elapsed() > max_ttl / 2;
    eventually("somebody else is elected", async || {
        second = beside
            .lock("k")
            .ttl(max_ttl)
            .try_acquire()
            .await
            .unwrap_or(None);
        second.is_some()
    })
    .await;
    is_meaningful
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn tokens_increase_despite_clock_jumps() {
    let clocks: Vec<_> = (0..3).map(|_| ClockShim::off_by(0).unwrap()).collect();
    let nodes = Nodes::with(3, |place, node| node.wearing(&clocks[place])).await;
    let (here, there) = (nodes.locks_behind().await, nodes.locks().await);
    let mut last = None;
    for (round, seconds) in [0, 3_600, -3_600, 40, -40, 0, 7, 0].into_iter().enumerate() {
        clocks[round % 3].set(seconds).unwrap();
        nodes.proxies[round % 3].set(
            Direction::ToClient,
            Traffic::Delay(Duration::from_millis(3)),
        );
        for locks in [&here, &there] {
            // A node whose clock has jumped refuses requests that it considers old. Afterwards the client knows its
            // clock.
            let guard = locks.lock("k").wait(SOON).acquire().await.unwrap();
            assert!(
                Some(guard.token()) > last,
                "{} after {last:?}",
                guard.token()
            );
            last = Some(guard.token());
            guard.release().await.unwrap();
        }
        nodes.proxies[round % 3].pass();
    }
}
