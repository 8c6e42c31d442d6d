//! The order of candidates.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use leasehold::{Error, LockHandle, LockManager};
use tokio::time::{Instant, sleep};

use crate::election::tools::{KEY, World, election, settle};

#[tokio::test(start_paused = true)]
async fn a_candidate_that_resigns_campaigns_again_behind_all_others() {
    let world = Arc::new(World::new());
    let candidates = ["a", "b", "c"].map(|name| {
        let election = election(&LockManager::new(world.backend.clone()));
        (name, election)
    });
    let mut campaigns = Vec::new();
    for (name, election) in &candidates {
        campaigns.push(world.candidate(election, name));
        settle().await;
    }
    let names = ["a", "b", "c"].into_iter().cycle();
    for ((leader, next), (_, election)) in names
        .clone()
        .zip(names.skip(1))
        .zip(candidates.iter().cycle())
        .take(7)
    {
        assert_eq!(world.log.take().last(), Some(&format!("{leader} leads")));
        election.resign().await;
        settle().await;
        let expected = [format!("{leader} stops"), format!("{next} leads")];
        assert_eq!(world.log.peek(), expected);
        // The candidate campaigns again after this time.
        sleep(Duration::from_millis(20)).await;
    }
    for campaign in campaigns {
        campaign.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_without_rivals_leads_again() {
    let world = World::new();
    let election = election(&world.manager());
    let (terms, begin) = (AtomicU32::new(0), Instant::now());
    let campaign = election.campaign(async |_leader: LockHandle| {
        if terms.fetch_add(1, Ordering::Relaxed) < 4 {
            election.resign().await;
        }
        Ok::<_, Error>(())
    });
    campaign.await.unwrap();
    assert_eq!(terms.into_inner(), 5);
    // After each resignation, others could lead for this time.
    assert!(begin.elapsed() >= 4 * Duration::from_millis(20));
}

#[tokio::test(start_paused = true)]
async fn the_max_hold_of_a_manager_ends_each_term() {
    let hour = Duration::from_secs(3600);
    let world = Arc::new(World::new());
    let locks = LockManager::builder().max_hold(hour);
    let locks = locks.build(world.backend.clone()).unwrap();
    let first = world.candidate(&election(&locks), "a");
    settle().await;
    let second = world.candidate(&election(&locks), "b");
    sleep(hour * 2 + Duration::from_secs(1)).await;
    let expected = ["a leads", "a stops", "b leads", "b stops", "a leads"];
    assert_eq!(world.log.take(), expected);
    first.abort();
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn the_max_hold_of_an_election_applies_to_its_candidate_only() {
    let hour = Duration::from_secs(3600);
    let world = Arc::new(World::new());
    let short = election(&world.manager()).max_hold(hour);
    let first = world.candidate(&short, "a");
    settle().await;
    let second = world.candidate(&election(&world.manager()), "b");
    sleep(hour * 3).await;
    let expected = ["a leads", "a stops", "release", "b leads"];
    assert_eq!(world.log.take(), expected);
    first.abort();
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn a_campaign_waits_longer_than_the_wait_of_its_manager() {
    let world = World::new();
    let locks = LockManager::builder().wait(Duration::from_secs(1));
    let locks = locks.build(world.backend.clone()).unwrap();
    let held = world.manager().lock(KEY).acquire().await.unwrap();
    let begin = Instant::now();
    let release = async {
        sleep(Duration::from_secs(60)).await;
        held.release().await.unwrap();
    };
    let campaign = election(&locks).campaign(async |_leader| Ok::<_, Error>(()));
    let (led, ()) = tokio::join!(campaign, release);
    led.unwrap();
    assert!(begin.elapsed() >= Duration::from_secs(60));
}

/// A function can lend values to a body, and its future can still be spawned.
async fn lends(locks: LockManager) -> Result<usize, Error> {
    let text = String::from("reports");
    let election = locks.election(&text);
    let led = async |leader: LockHandle| {
        leader.check()?;
        Ok(text.len())
    };
    election.campaign(led).await
}

#[tokio::test]
async fn a_function_whose_body_borrows_its_locals_can_be_spawned() {
    let task = tokio::spawn(lends(LockManager::in_process()));
    assert_eq!(task.await.unwrap().unwrap(), 7);
}
