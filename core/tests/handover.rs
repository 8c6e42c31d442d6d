//! What a ticket says to whoever takes the lock up.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::{LockGuard, LockManager, LossReason};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(7);

async fn held(locks: &LockManager) -> LockGuard {
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    lock.acquire().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn who_takes_a_lock_up_has_the_ttl_of_its_giver_unless_it_names_another() {
    let locks = LockManager::in_process();
    for named in [None, Some(SECOND * 3)] {
        let ticket = held(&locks).await.hand_over().await.unwrap();
        let ticket = ticket.to_string().parse().unwrap();
        let lock = match named {
            Some(ttl) => locks.take_up(&ticket).ttl(ttl),
            None => locks.take_up(&ticket),
        };
        let guard = lock.without_renewal().acquire().await.unwrap();
        let (left, ttl) = (guard.valid_for(), named.unwrap_or(TTL));
        assert!(left <= ttl && left > ttl * 9 / 10, "{left:?} of {ttl:?}");
        assert!(guard.token() > ticket.token());
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn what_nobody_takes_up_is_free_one_ttl_after_it_was_given() {
    let locks = LockManager::in_process();
    let guard = held(&locks).await;
    sleep(TTL - SECOND).await;
    let handle = guard.handle();
    let _ticket = guard.hand_over().await.unwrap();
    assert_eq!(handle.lost().await.reason, LossReason::HandedOver);
    sleep(TTL - SECOND).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    sleep(SECOND).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}
