//! Failures of the backend, and campaigns that cannot succeed.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use leasehold::{Error, InvalidOption, LockHandle, LockManager};
use tokio::time::{Instant, sleep};

use crate::election::tools::{KEY, TTL, World, election, settle};

#[tokio::test(start_paused = true)]
async fn a_candidate_outlasts_an_outage_with_at_most_one_request_per_second() {
    const OUTAGE: u64 = 600;
    let world = World::new();
    let (is_down, requests) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicU32::new(0)));
    let (down, count) = (Arc::clone(&is_down), Arc::clone(&requests));
    let locks = world.manager_with(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        match down.load(Ordering::Relaxed) {
            true => Fault::Fail,
            false => Fault::None,
        }
    });
    let begin = Instant::now();
    let repaired = async {
        sleep(Duration::from_secs(OUTAGE)).await;
        is_down.store(false, Ordering::Relaxed);
        requests.load(Ordering::Relaxed)
    };
    let campaign = election(&locks).campaign(async |_leader| Ok::<_, Error>(begin.elapsed()));
    let (led, requests) = tokio::join!(campaign, repaired);
    let late = led.unwrap().as_secs() - OUTAGE;
    assert!(late <= 1, "{late} s");
    // The pauses have jitter, and the first pauses are shorter.
    assert!((500..700).contains(&requests), "{requests} requests");
}

#[tokio::test(start_paused = true)]
async fn a_leader_stops_before_its_lease_ends_in_an_outage_and_leads_again_after_it() {
    let world = Arc::new(World::new());
    let is_down = Arc::new(AtomicBool::new(false));
    let down = Arc::clone(&is_down);
    let locks = world.manager_with(move |_| match down.load(Ordering::Relaxed) {
        true => Fault::HangBefore,
        false => Fault::None,
    });
    let campaign = world.candidate(&election(&locks), "a");
    settle().await;
    is_down.store(true, Ordering::Relaxed);
    assert_eq!(world.log.take(), ["a leads"]);
    while world.log.peek().is_empty() {
        assert!(
            !world.is_free().await,
            "the lease has ended before the body"
        );
        settle().await;
    }
    assert_eq!(world.log.take()[0], "a stops");
    sleep(TTL * 3).await;
    is_down.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(4)).await;
    let log = world.log.take();
    assert_eq!(
        log.iter().filter(|it| *it == "a leads").count(),
        1,
        "{log:?}"
    );
    campaign.abort();
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_cannot_succeed_returns_the_error() {
    let locks = LockManager::in_process();
    let never = async |_leader: LockHandle| pending::<Result<(), Error>>().await;
    let refused = locks.election("").campaign(never).await;
    assert!(matches!(refused, Err(Error::Key(_))), "{refused:?}");
    let short = locks.election(KEY).ttl(Duration::ZERO);
    let refused = short.campaign(never).await;
    let is_ttl = |error: &InvalidOption| error.to_string().starts_with("ttl is 0ns");
    assert!(
        matches!(&refused, Err(Error::Option(error)) if is_ttl(error)),
        "{refused:?}"
    );
    let _permit = locks.semaphore(KEY, 1).acquire().await.unwrap();
    let refused = locks.election(KEY).campaign(never).await;
    assert!(
        matches!(refused, Err(Error::OtherKind { .. })),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_release_without_a_reply_delays_a_resignation_by_one_command_timeout() {
    let world = Arc::new(World::new());
    let mut releases = 0;
    let locks = world.manager_with(move |command| {
        releases += u32::from(command == Command::Release);
        match command {
            Command::Release if releases == 1 => Fault::HangBefore,
            _ => Fault::None,
        }
    });
    let election = election(&locks);
    let campaign = world.candidate(&election, "a");
    settle().await;
    let begin = Instant::now();
    election.resign().await;
    let took = begin.elapsed();
    let timeout = leasehold::DEFAULT_COMMAND_TIMEOUT;
    assert!((timeout..timeout * 2).contains(&took), "{took:?}");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(world.log.take().last().unwrap(), "a leads");
    campaign.abort();
}
