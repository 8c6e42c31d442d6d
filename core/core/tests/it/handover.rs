//! The contents of a ticket, and their checks when a lock is accepted.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::{EndReason, Error, HandoverTicket, KeyProblem, LockGuard, LockManager};
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);
const TTL: Duration = Duration::from_secs(7);

async fn held(locks: &LockManager) -> LockGuard {
    let lock = locks.lock("k").ttl(TTL).without_renewal();
    lock.acquire().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_accepted_lock_has_the_previous_ttl_unless_another_is_given() {
    let locks = LockManager::in_process();
    for named in [None, Some(SECOND * 3)] {
        let ticket = held(&locks).await.hand_over().await.unwrap();
        let ticket = ticket.to_string().parse().unwrap();
        let lock = match named {
            Some(ttl) => locks.accept(&ticket).ttl(ttl),
            None => locks.accept(&ticket),
        };
        let guard = lock.without_renewal().await.unwrap();
        let (left, ttl) = (guard.valid_for(), named.unwrap_or(TTL));
        assert!(left <= ttl && left > ttl * 9 / 10, "{left:?} of {ttl:?}");
        assert!(guard.token() > ticket.token());
        guard.release().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_handed_over_lock_that_is_not_accepted_is_free_after_its_ttl() {
    let locks = LockManager::in_process();
    let guard = held(&locks).await;
    sleep(TTL - SECOND).await;
    let handle = guard.handle();
    let _ticket = guard.hand_over().await.unwrap();
    assert_eq!(handle.ended().await.reason, EndReason::HandedOver);
    sleep(TTL - SECOND).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    sleep(SECOND).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}

/// Returns whether a forged or changed ticket is refused.
async fn is_refused(locks: &LockManager, ticket: &str) -> bool {
    let Ok(ticket) = ticket.parse::<HandoverTicket>() else {
        return true;
    };
    let taken = locks.accept(&ticket).await;
    matches!(taken, Err(Error::HandoverSpent { .. }))
}

#[tokio::test(start_paused = true)]
async fn a_forged_ticket_made_from_inspection_data_is_refused() {
    let locks = LockManager::in_process();
    // Use a ticket of another lock as the model of the format.
    let other = locks.lock("other").acquire().await.unwrap();
    let model = other.hand_over().await.unwrap().to_string();
    let words: Vec<_> = model.split(' ').collect();
    let [form, id, _, secret, ttl, prefix, _] = words[..] else {
        panic!("{model}");
    };
    let guard = held(&locks).await;
    let token = guard.token();
    let shown = locks.inspect("k").await.unwrap().owner.unwrap();
    assert_eq!(shown.len(), 12, "{shown}");
    for owner in [&*shown, id] {
        for secret in [&*shown, id, secret] {
            let forged = format!("{form} {owner} {token} {secret} {ttl} {prefix} lock:k");
            assert!(is_refused(&locks, &forged).await, "{forged}");
        }
    }
    assert!(guard.is_valid() && guard.renew().await.is_ok());

    let ticket = guard.hand_over().await.unwrap().to_string();
    let words: Vec<_> = ticket.split(' ').collect();
    for changed in [1, 2, 3] {
        let mut words = words.clone();
        let token = (token.get() + 1).to_string();
        words[changed] = [id, &token, secret][changed - 1];
        assert!(is_refused(&locks, &words.join(" ")).await, "{changed}");
    }
    let taken = locks.accept(&ticket.parse().unwrap()).await;
    assert!(taken.unwrap().token() > token);
}

#[tokio::test(start_paused = true)]
async fn a_manager_with_another_prefix_cannot_accept_a_ticket() {
    let world = InProcess::new();
    let managed = |prefix| {
        let builder = LockManager::builder();
        builder.prefix(prefix).build(world.clone()).unwrap()
    };
    let (locks, other) = (managed("lock:"), managed("shop:"));
    let ticket = held(&locks).await.hand_over().await.unwrap();
    let refused = other.accept(&ticket).await.unwrap_err();
    let is_of_prefix =
        |it: &Error| matches!(it, Error::Key(key) if *key.problem() == KeyProblem::OtherPrefix);
    assert!(is_of_prefix(&refused), "{refused}");
    // A ticket that splits the same full key differently is also refused.
    let divided = ticket.to_string().replace(" 5 lock:k", " 0 lock:k");
    let ticket: HandoverTicket = divided.parse().unwrap();
    let refused = locks.accept(&ticket).await.unwrap_err();
    assert!(is_of_prefix(&refused), "{refused}");
}
