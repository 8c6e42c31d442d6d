//! Streams of leaders.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use futures_util::{FutureExt, StreamExt};
use leasehold::conformance::{Command, Fault};
use leasehold::{Error, InvalidOption, LockManager, Operation};
use tokio::time::{Instant, sleep, timeout};

use crate::election::tools::{KEY, World, election, settle};

#[tokio::test(start_paused = true)]
async fn an_observer_receives_the_current_leader_and_then_each_change() {
    let world = Arc::new(World::new());
    let observer = LockManager::new(world.backend.clone());
    let mut leaders = election(&observer).observe();
    assert_eq!(leaders.next().await.unwrap().unwrap(), None);

    let labelled = |label| {
        LockManager::builder()
            .label(label)
            .build(world.backend.clone())
    };
    let (here, there) = (labelled("web-1").unwrap(), labelled("web-2").unwrap());
    let (here, there) = (election(&here), election(&there));
    let first = world.candidate(&here, "a");
    settle().await;
    let second = world.candidate(&there, "b");
    let held = observer.inspect(KEY).await.unwrap();
    let begin = Instant::now();
    let a = leaders.next().await.unwrap().unwrap().unwrap();
    assert!(begin.elapsed() <= Duration::from_secs(1));
    assert_eq!(
        (a.label.as_deref(), Some(a.token)),
        (Some("web-1"), held.token)
    );
    // The token of a test with paused time is a real time.
    let age = SystemTime::now().duration_since(a.since.unwrap()).unwrap();
    assert!(age < Duration::from_secs(60), "{age:?}");

    let minute = Duration::from_secs(60);
    assert!(timeout(minute, leaders.next()).await.is_err());
    here.resign().await;
    let b = leaders.next().await.unwrap().unwrap().unwrap();
    assert!(b.token > a.token && b.since >= a.since);
    assert_eq!(b.label.as_deref(), Some("web-2"));

    // A second observer receives the current leader immediately.
    let mut late = election(&observer).observe();
    assert_eq!(
        late.next().now_or_never().unwrap().unwrap().unwrap(),
        Some(b)
    );
    first.abort();
    second.abort();
    settle().await;
    assert_eq!(leaders.next().await.unwrap().unwrap(), None);

    observer.shutdown().await.unwrap();
    assert!(leaders.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_observer_receives_one_error_per_outage_and_then_the_leader_again() {
    let world = Arc::new(World::new());
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let locks = world.manager_with(move |command| {
        match down.load(Ordering::Relaxed) && command == Command::Inspect {
            true => Fault::Fail,
            false => Fault::None,
        }
    });
    let campaign = world.candidate(&election(&locks), "a");
    settle().await;
    let mut leaders = election(&locks).observe();
    let leader = leaders.next().await.unwrap().unwrap();
    for _ in 0..2 {
        is_down.store(true, Ordering::Relaxed);
        let error = leaders.next().await.unwrap().unwrap_err();
        let operation = Operation::Inspect;
        assert!(
            matches!(&error, Error::Backend { operation: it, .. } if *it == operation),
            "{error}"
        );
        let hour = Duration::from_secs(3600);
        assert!(timeout(hour, leaders.next()).await.is_err());
        is_down.store(false, Ordering::Relaxed);
        assert_eq!(leaders.next().await.unwrap().unwrap(), leader);
    }
    campaign.abort();
}

#[tokio::test(start_paused = true)]
async fn an_observer_polls_at_its_interval() {
    let world = World::new();
    let locks = world.manager();
    let interval = Duration::from_secs(30);
    let mut leaders = locks.election(KEY).poll_interval(interval).observe();
    assert_eq!(leaders.next().await.unwrap().unwrap(), None);
    let begin = Instant::now();
    let _held = locks.lock(KEY).acquire().await.unwrap();
    assert!(leaders.next().await.unwrap().unwrap().is_some());
    assert!((interval - Duration::from_millis(5)..=interval).contains(&begin.elapsed()));
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_waits_ends_with_its_manager() {
    let locks = World::new().manager();
    let mut leaders = locks.election(KEY).observe();
    leaders.next().await.unwrap().unwrap();
    let waiting = tokio::spawn(async move { leaders.next().await.is_none() });
    sleep(Duration::from_millis(100)).await;
    locks.shutdown().await.unwrap();
    assert!(waiting.now_or_never().is_none_or(|ended| ended.unwrap()));
    assert!(locks.election(KEY).observe().next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn an_observer_of_an_invalid_election_receives_one_error() {
    let locks = LockManager::in_process();
    let mut leaders = locks.election("").observe();
    let error = leaders.next().await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Key(_)), "{error}");
    assert!(leaders.next().await.is_none());
    let often = locks.election(KEY).poll_interval(Duration::ZERO);
    let mut leaders = often.observe();
    let error = leaders.next().await.unwrap().unwrap_err();
    assert!(
        matches!(
            error,
            Error::Option(InvalidOption::TooShort {
                option: "poll_interval",
                ..
            })
        ),
        "{error}"
    );
    assert!(leaders.next().await.is_none());
}
