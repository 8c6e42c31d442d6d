use std::task::{Context, Waker};
use std::time::Duration;

use leasehold::conformance::{Command, Fault};
use leasehold::{EndReason, Error};
use tokio::time::{Instant, sleep};

use crate::rules::tools::{KEY, Scene, TTL, settle};

#[tokio::test(start_paused = true)]
async fn leases_are_renewed_at_a_third_in_bounded_batches_with_jitter() {
    const LOCKS: usize = 1000;
    let scene = Scene::calm();
    let mut guards = Vec::new();
    for n in 0..LOCKS {
        let lock = scene.locks.lock(format!("item:{n}"));
        guards.push(lock.acquire().await.unwrap());
    }
    let started = Instant::now();
    sleep(TTL.mul_f64(0.34)).await;
    let renewals = scene.log.calls(Command::Renew);
    let renewed: usize = renewals.iter().map(|(_, call)| call.owners.len()).sum();
    assert_eq!(renewed, LOCKS);
    assert!(renewals.iter().all(|(_, call)| call.owners.len() <= 256));
    let soonest = renewals.first().map(|(at, _)| *at - started).unwrap();
    assert!(soonest >= TTL.mul_f64(0.29), "{soonest:?}");
    // The locks were acquired concurrently. Their renewals are spread over several batches, and not sent one by one.
    let batches = renewals.len();
    assert!((10..=20).contains(&batches), "{batches} batches");
    let largest = renewals.iter().map(|(_, call)| call.owners.len()).max();
    assert!(largest < Some(LOCKS / 5), "{largest:?}");
    assert!(guards.iter().all(leasehold::LockGuard::is_valid));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_batch_has_a_bounded_size() {
    let scene = Scene::new(|command, nth| match (command, nth) {
        // While one batch is in flight, more leases become due.
        (Command::Renew, 1..) => Fault::SlowAnswer(Duration::from_millis(1900)),
        _ => Fault::None,
    });
    let mut guards = Vec::new();
    for n in 0..2000 {
        let lock = scene.locks.lock(format!("item:{n}"));
        guards.push(lock.acquire().await.unwrap());
    }
    tokio::time::advance(TTL / 3).await;
    settle().await;
    let sizes: Vec<_> = scene
        .log
        .calls(Command::Renew)
        .iter()
        .map(|(_, c)| c.owners.len())
        .collect();
    assert_eq!(sizes.iter().sum::<usize>(), 2000);
    assert!(sizes.iter().all(|size| *size <= 256), "{sizes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_not_renewed_after_its_release() {
    let scene = Scene::calm();
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    sleep(TTL).await;
    guard.release().await.unwrap();
    let before = scene.log.count(Command::Renew);
    assert!(before >= 3);
    sleep(TTL * 10).await;
    assert_eq!(scene.log.count(Command::Renew), before);
}

#[tokio::test(start_paused = true)]
async fn a_release_is_sent_after_the_renewal_in_progress() {
    let slow = Duration::from_millis(800);
    let scene = Scene::new(move |command, _| match command {
        Command::Renew => Fault::SlowRequest(slow),
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    while scene.log.count(Command::Renew) == 0 {
        settle().await;
    }
    guard.release().await.unwrap();
    let (renewal, _) = scene.log.calls(Command::Renew)[0];
    let (release, _) = scene.log.calls(Command::Release)[0];
    assert!(
        release - renewal >= slow,
        "sent {:?} after",
        release - renewal
    );
    sleep(TTL).await;
    assert_eq!(scene.log.count(Command::Renew), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failing_renewal_is_retried_and_does_not_release_the_lock() {
    for fault in [
        Fault::Fail,
        Fault::LoseAnswer,
        Fault::HangBefore,
        Fault::Panic,
    ] {
        // All renewals fail from a third of the lease until shortly before its end.
        let back_again = Instant::now() + TTL.mul_f64(0.9);
        let scene = Scene::new(move |command, _| match command {
            Command::Renew if Instant::now() < back_again => fault,
            _ => Fault::None,
        });
        let guard = scene.locks.lock(KEY).acquire().await.unwrap();
        sleep(TTL * 5).await;
        assert!(guard.is_valid(), "{fault:?}");
        assert!(scene.log.count(Command::Renew) > 5, "{fault:?}");
        assert_eq!(scene.log.count(Command::Release), 0);
        assert_eq!(scene.log.count(Command::Cleanup), 0);
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_hanging_renewal_delays_no_other_lease() {
    let short = Duration::from_millis(300);
    let mut long_lived = None;
    let scene = Scene::new(move |_, _| Fault::None);
    let slow = leasehold::conformance::Faulty::new(scene.world.clone(), move |call| {
        let first = *long_lived.get_or_insert(call.owners.clone().first().copied());
        match call.command {
            Command::Renew if call.owners.first().copied() == first => Fault::HangBefore,
            _ => Fault::None,
        }
    });
    let locks = leasehold::LockManager::new(slow);
    let hanging = locks.lock("hanging").acquire().await.unwrap();
    let guard = locks.lock(KEY).ttl(short).acquire().await.unwrap();
    assert_eq!(hanging.ended().await.reason, EndReason::Expired);
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn renewal_ends_at_max_hold() {
    let scene = Scene::calm();
    let max_hold = Duration::from_secs(100);
    let started = Instant::now();
    let guard = scene
        .locks
        .lock(KEY)
        .max_hold(max_hold)
        .acquire()
        .await
        .unwrap();
    let lost = guard.ended().await;
    assert_eq!(
        (lost.reason, started.elapsed()),
        (EndReason::MaxHold, max_hold)
    );
    assert!(!guard.is_valid());
    // Code that still runs under the lock can notice the loss until the last lease ends.
    assert!(!scene.is_free().await);
    let renewals = scene.log.count(Command::Renew);
    assert!((9..=11).contains(&renewals), "{renewals} renewals");
    sleep(TTL * 2).await;
    assert!(scene.is_free().await);
    assert_eq!(scene.log.count(Command::Renew), renewals);
    let released = guard.release().await;
    assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == EndReason::MaxHold));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_manager_without_guards_leaves_no_task() {
    let scene = Scene::calm();
    scene
        .locks
        .lock(KEY)
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    assert!(
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks()
            > 0
    );
    drop(scene);
    settle().await;
    assert_eq!(
        tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks(),
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_short_lease_is_renewed_although_the_watchdog_sleeps_for_a_long_one() {
    let scene = Scene::calm();
    let long = Duration::from_secs(3600);
    let _long = scene.locks.lock("long").ttl(long).acquire().await.unwrap();
    sleep(Duration::from_secs(1)).await;
    let short = Duration::from_millis(300);
    let guard = scene.locks.lock(KEY).ttl(short).acquire().await.unwrap();
    sleep(Duration::from_secs(5)).await;
    assert!(guard.is_valid());
}

#[tokio::test(start_paused = true)]
async fn a_watchdog_renewal_counts_from_when_it_was_sent() {
    let delay = Duration::from_millis(1500);
    let scene = Scene::new(move |command, _| match command {
        Command::Renew => Fault::SlowAnswer(delay),
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let mut last = guard.valid_for();
    loop {
        sleep(Duration::from_millis(10)).await;
        let now = guard.valid_for();
        if now > last {
            assert!(now <= Duration::from_millis(29_698 + 10) - delay, "{now:?}");
            return;
        }
        last = now;
    }
}

#[tokio::test(start_paused = true)]
async fn a_manual_renewal_that_is_not_polled_does_not_stop_the_watchdog() {
    let scene = Scene::new(|command, _| match command {
        Command::Renew => Fault::SlowAnswer(Duration::from_millis(100)),
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let mut renew = std::pin::pin!(guard.renew());
    let mut context = Context::from_waker(Waker::noop());
    assert!(renew.as_mut().poll(&mut context).is_pending());
    sleep(TTL * 3).await;
    assert!(guard.is_valid());
}
