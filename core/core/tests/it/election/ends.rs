//! A term ends: the body is dropped first, and the lock is released afterwards.

use std::future::{Future, pending, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use futures_util::{FutureExt, poll};
use leasehold::conformance::Fault;
use leasehold::{EndReason, Error, LockHandle, LockManager, ShutdownError};
use tokio::time::{Instant, sleep};

use crate::election::tools::{KEY, TTL, World, election, settle};

const BODY_FIRST: [&str; 3] = ["a leads", "a stops", "release"];

/// An error type of the caller, with the required `From`.
#[derive(Debug, thiserror::Error)]
enum OwnError {
    #[error("its own")]
    Own,
    #[error(transparent)]
    Lock(#[from] Error),
}

#[tokio::test(start_paused = true)]
async fn a_body_that_returns_ends_its_campaign_and_releases_the_lock() {
    let world = World::new();
    let locks = world.manager();
    let token = election(&locks).campaign(async |leader| {
        let _work = world.work("a");
        Ok::<_, Error>(leader.token())
    });
    assert!(token.await.unwrap().get() > 0);
    assert_eq!(world.log.take(), BODY_FIRST);
    assert!(world.is_free().await);
    let failed = election(&locks).campaign(async |_leader| {
        let _work = world.work("a");
        Err::<(), _>(OwnError::Own)
    });
    assert!(matches!(failed.await, Err(OwnError::Own)));
    assert_eq!(world.log.take(), BODY_FIRST);
    assert!(world.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_is_dropped_before_the_release() {
    let world = World::new();
    let panics = async |_leader: LockHandle| -> Result<(), Error> {
        let _work = world.work("a");
        panic!("it panics")
    };
    let campaign = election(&world.manager()).campaign(panics);
    assert!(AssertUnwindSafe(campaign).catch_unwind().await.is_err());
    settle().await;
    assert_eq!(world.log.take(), BODY_FIRST);
    assert!(world.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_resignation_drops_the_body_and_waits_for_the_release() {
    let world = Arc::new(World::new());
    let late = Duration::from_millis(100);
    let locks = world.manager_with(move |command| match command {
        leasehold::conformance::Command::Release => Fault::SlowAnswer(late),
        _ => Fault::None,
    });
    let election = election(&locks);
    let campaign = world.candidate(&election, "a");
    settle().await;
    let begin = Instant::now();
    let resigned = tokio::spawn(election.clone().resign());
    settle().await;
    assert_eq!(world.log.take(), BODY_FIRST);
    assert!(!resigned.is_finished());
    resigned.await.unwrap();
    assert!(begin.elapsed() >= late);
    campaign.abort();
}

#[tokio::test(start_paused = true)]
async fn a_resignation_inside_of_the_body_drops_the_body() {
    let world = World::new();
    let locks = world.manager();
    let election = election(&locks);
    let terms = AtomicU32::new(0);
    let campaign = election.campaign(async |_leader| {
        let _work = world.work("a");
        if terms.fetch_add(1, Ordering::Relaxed) == 0 {
            election.resign().await;
            panic!("the body continues after it has resigned");
        }
        Ok::<_, Error>(())
    });
    campaign.await.unwrap();
    assert_eq!(terms.into_inner(), 2);
    assert_eq!(world.log.take(), [BODY_FIRST, BODY_FIRST].concat());
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_does_not_lead_resigns_without_effect() {
    let world = Arc::new(World::new());
    let (here, there) = (election(&world.manager()), election(&world.manager()));
    here.resign().await;
    let leader = world.candidate(&here, "a");
    settle().await;
    let waiter = world.candidate(&there, "b");
    settle().await;
    there.resign().await;
    assert_eq!(world.log.take(), ["a leads"]);
    leader.abort();
    settle().await;
    assert_eq!(world.log.take(), ["a stops", "release", "b leads"]);
    waiter.abort();
    settle().await;
    // The term of an ended campaign is over.
    there.resign().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_waits_until_the_body_is_dropped_and_releases_afterwards() {
    let world = World::new();
    let locks = world.manager();
    let election = election(&locks);
    let mut campaign = pin!(election.campaign(async |leader: LockHandle| {
        let _work = world.work("a");
        let _never = pending::<()>().await;
        Ok::<_, Error>(leader.token())
    }));
    while world.log.take().is_empty() {
        assert!(poll!(&mut campaign).is_pending());
        settle().await;
    }
    let shutdown = tokio::spawn({
        let locks = locks.clone();
        async move { locks.shutdown().await }
    });
    sleep(Duration::from_secs(5)).await;
    // The task of the campaign has not been polled since the shutdown began.
    assert!(world.log.take().is_empty() && !shutdown.is_finished());
    let closed = campaign.await;
    assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
    assert_eq!(world.log.take(), BODY_FIRST[1..]);
    shutdown.await.unwrap().unwrap();
    assert!(world.is_free().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_on_threads_never_releases_before_the_body_is_dropped() {
    for _ in 0..200 {
        let world = Arc::new(World::new());
        let locks = world.manager();
        let campaign = world.candidate(&election(&locks), "a");
        while world.is_free().await {
            tokio::task::yield_now().await;
        }
        locks.shutdown().await.unwrap();
        let closed = campaign.await.unwrap();
        assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
        let log = world.log.take();
        // The shutdown may come before the body begins.
        assert!(log == BODY_FIRST || log == ["release"], "{log:?}");
        assert!(world.is_free().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_is_neither_polled_nor_dropped_keeps_its_lease_until_it_expires() {
    let world = World::new();
    let locks = world.manager();
    let election = election(&locks);
    let mut campaign = pin!(election.campaign(async |_leader: LockHandle| {
        let _work = world.work("a");
        pending::<Result<(), Error>>().await
    }));
    assert!(poll!(&mut campaign).is_pending());
    assert_eq!(world.log.take(), ["a leads"]);
    let ended = locks.shutdown().await;
    let unconfirmed = |error: &ShutdownError| error.unconfirmed == 1;
    assert!(
        matches!(&ended, Err(Error::Shutdown(error)) if unconfirmed(error)),
        "{ended:?}"
    );
    assert!(world.log.take().is_empty());
    sleep(TTL).await;
    assert!(world.is_free().await);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_a_waiting_campaign() {
    let world = Arc::new(World::new());
    let other = LockManager::new(world.backend.clone());
    let _held = other.lock(KEY).acquire().await.unwrap();
    let locks = world.manager();
    let campaign = world.candidate(&election(&locks), "a");
    settle().await;
    locks.shutdown().await.unwrap();
    let closed = campaign.await.unwrap();
    assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
    assert!(world.log.take().is_empty());
    assert_eq!(other.inspect(KEY).await.unwrap().waiting, 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_can_shut_its_manager_down() {
    let world = World::new();
    let locks = world.manager();
    let closed = election(&locks).campaign(async |_leader: LockHandle| {
        let _work = world.work("a");
        locks.shutdown().await
    });
    let closed = closed.await;
    assert!(matches!(closed, Err(Error::Closed { .. })), "{closed:?}");
    assert_eq!(world.log.take(), BODY_FIRST);
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_loses_its_lock_campaigns_again() {
    let world = World::new();
    let locks = world.manager();
    let tokens = Mutex::new(Vec::new());
    let campaign = election(&locks).campaign(async |leader| {
        tokens.lock().unwrap().push(leader.token());
        let work = world.work("a");
        if tokens.lock().unwrap().len() < 3 {
            leader.simulate_loss();
            pending::<()>().await;
        }
        drop(work);
        Ok::<_, Error>(leader.is_valid())
    });
    assert!(campaign.await.unwrap());
    let tokens = tokens.into_inner().unwrap();
    assert!(tokens.is_sorted_by(|a, b| a < b), "{tokens:?}");
    assert_eq!(world.log.take(), BODY_FIRST.repeat(3));
}

#[tokio::test(start_paused = true)]
async fn a_value_of_a_body_that_had_lost_its_lock_is_an_error() {
    let world = World::new();
    let locks = world.manager();
    let lost = election(&locks).campaign(async |_leader| locks.force_release(KEY).await);
    let lost = lost.await;
    assert!(
        matches!(&lost, Err(Error::LostInBody(lost)) if lost.completed && lost.lost.reason == EndReason::Gone),
        "{lost:?}"
    );
}

/// Polls `campaign` until it has returned `Pending` `points` times. Returns `false` if it completed before.
async fn poll_for<F: Future>(campaign: F, points: usize) -> bool {
    let mut campaign = pin!(campaign);
    let mut left = points;
    poll_fn(|cx| {
        if campaign.as_mut().poll(cx).is_ready() {
            return Poll::Ready(false);
        }
        left -= 1;
        match left {
            0 => Poll::Ready(true),
            _ => Poll::Pending,
        }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_campaign_that_is_dropped_at_any_await_point_drops_the_body_before_the_release() {
    let slow = Duration::from_millis(50);
    let mut was_leading = false;
    for points in 1..100 {
        let world = World::new();
        let locks = world.manager_with(move |_| Fault::SlowAnswer(slow));
        let campaign = election(&locks).campaign(async |_leader| {
            let _work = world.work("a");
            sleep(slow).await;
            Ok::<_, Error>(())
        });
        let dropped = poll_for(campaign, points).await;
        sleep(slow * 4).await;
        let log = world.log.take();
        // A release in progress is repeated in the background.
        let body_first = log.starts_with(&BODY_FIRST.map(str::to_owned));
        assert!(log.is_empty() || body_first, "{points}: {log:?}");
        assert!(world.is_free().await, "{points}");
        was_leading |= dropped && !log.is_empty();
        if !dropped {
            assert!(was_leading && points > 3, "{points}");
            return;
        }
    }
    panic!("the campaign does not complete");
}
