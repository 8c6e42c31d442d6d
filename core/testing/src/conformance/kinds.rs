//! Behaviour of the kinds of lock with several holders, tested on the `Backend` trait.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};

use super::backend_request_helpers::{
    downgrade, inspect, is_held, permits, queueing, release, renew_once, trying,
};
use super::helpers::{
    attempt, before, eventually, fresh_key, hand_over, insist, queue_for, refusal, short_ttl, take,
    take_soon, until_in_time,
};
use leasehold_core::FencingToken;
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, Handover, HandoverSecret, Mode, Refusal, ReleaseAnswer,
    RenewAnswer,
};

/// Checks that readers hold a lock together and exclude writers, and that a writer excludes all other holders.
pub async fn readers_hold_the_lock_together_and_exclude_writers<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared {
        return;
    }
    let key = fresh_key("readers");
    let first = take(&here, &trying(&key, Mode::Shared)).await;
    let second = take(&there, &trying(&key, Mode::Shared)).await;
    assert_eq!(inspect(&here, &key).await.holders, 2);
    assert_eq!(attempt(&there, &trying(&key, Mode::Exclusive)).await, None);
    assert!(is_held(&here, &first).await && is_held(&there, &second).await);
    assert_eq!(release(&here, &first).await, ReleaseAnswer::Released);
    assert_eq!(release(&here, &first).await, ReleaseAnswer::AlreadyGone);
    assert_eq!(attempt(&there, &trying(&key, Mode::Exclusive)).await, None);
    release(&there, &second).await;
    let writer = take(&there, &trying(&key, Mode::Exclusive)).await;
    assert_eq!(attempt(&here, &trying(&key, Mode::Shared)).await, None);
    assert_eq!(attempt(&here, &trying(&key, Mode::Exclusive)).await, None);
    release(&there, &writer).await;
    assert!(inspect(&here, &key).await.is_free());
}

/// Checks that readers that hold a lock together have the same token. That token is larger than every earlier writer's
/// token, and smaller than every later writer's token.
pub async fn concurrent_readers_have_the_same_token<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared {
        return;
    }
    let key = fresh_key("readers_token");
    let writer = take(&here, &trying(&key, Mode::Exclusive)).await;
    release(&here, &writer).await;
    let requests = [
        trying(&key, Mode::Shared),
        trying(&key, Mode::Shared),
        trying(&key, Mode::Shared),
    ];
    let first = take(&here, &requests[0]).await;
    let second = take(&there, &requests[1]).await;
    assert!(first.token > writer.token);
    assert_eq!(second.token, first.token);
    release(&here, &first).await;
    let third = take(&here, &requests[2]).await;
    assert_eq!(third.token, first.token);
    assert_eq!(attempt(&here, &requests[2]).await, Some(third.token));
    release(&there, &second).await;
    release(&here, &third).await;
    let writer = take(&there, &trying(&key, Mode::Exclusive)).await;
    assert!(writer.token > third.token);
}

/// Checks the tokens of readers that are granted the lock together. One of these readers polls only after the first
/// reader has released.
pub async fn a_reader_that_polls_late_has_the_token_of_the_other_readers<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared || !here.capabilities().fifo {
        return;
    }
    let key = fresh_key("late_reader");
    let writer = take(&here, &trying(&key, Mode::Exclusive)).await;
    let readers = [(); 3].map(|()| queueing(&key, Mode::Shared));
    for reader in &readers {
        assert_eq!(attempt(&there, reader).await, None);
    }
    release(&here, &writer).await;
    let first = queue_for(&there, &readers[0]).await;
    let third = queue_for(&there, &readers[2]).await;
    release(&there, &first).await;
    let second = queue_for(&there, &readers[1]).await;
    assert_eq!([second.token, third.token], [first.token; 2]);
    release(&there, &second).await;
    release(&there, &third).await;
    assert!(inspect(&here, &key).await.is_free());
}

/// Checks that a waiting writer blocks new readers. After that writer, readers next to each other in the queue acquire
/// the lock together.
pub async fn a_waiting_writer_is_not_starved<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared || !here.capabilities().fifo {
        return;
    }
    let key = fresh_key("starved");
    let reader = take(&here, &queueing(&key, Mode::Shared)).await;
    let writer = queueing(&key, Mode::Exclusive);
    assert_eq!(attempt(&there, &writer).await, None);
    let late = [
        queueing(&key, Mode::Shared),
        queueing(&key, Mode::Shared),
        queueing(&key, Mode::Exclusive),
        queueing(&key, Mode::Shared),
    ];
    assert_eq!(attempt(&here, &trying(&key, Mode::Shared)).await, None);
    for request in &late {
        assert_eq!(attempt(&here, request).await, None);
    }
    release(&here, &reader).await;
    let writer = queue_for(&there, &writer).await;
    assert_eq!(attempt(&here, &late[0]).await, None);
    release(&there, &writer).await;
    let to_pipeline = [
        queue_for(&here, &late[0]).await,
        queue_for(&here, &late[1]).await,
    ];
    assert_eq!(attempt(&here, &late[2]).await, None);
    assert_eq!(attempt(&here, &late[3]).await, None);
    for claim in to_pipeline {
        release(&here, &claim).await;
    }
    let writer = queue_for(&here, &late[2]).await;
    release(&here, &writer).await;
    let reader = queue_for(&here, &late[3]).await;
    release(&here, &reader).await;
    assert!(inspect(&here, &key).await.is_free());
}

/// Checks that the next waiters acquire the lock immediately if a waiting writer is cancelled.
pub async fn a_cancelled_waiting_writer_does_not_block_readers<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared || !here.capabilities().fifo {
        return;
    }
    // A busy machine may be late in some rounds. Without a notification, each round is late.
    let mut late = Vec::new();
    while late.len() < 10 {
        let key = fresh_key("gives_up");
        let _reader = take(&here, &queueing(&key, Mode::Shared)).await;
        let writer = queueing(&key, Mode::Exclusive);
        let behind = queueing(&key, Mode::Shared);
        assert_eq!(attempt(&there, &writer).await, None);
        let busy = insist(async || there.attempt(&behind).await).await;
        let AttemptAnswer::Busy { retry_after } = busy else {
            panic!("{busy:?}");
        };
        insist(async || there.cleanup(&writer).await).await;
        let started = Instant::now();
        // An injected fault also ends the wait. A manager then polls, and so does this case.
        let _hint = timeout(retry_after, there.wait(&behind)).await;
        let waited = started.elapsed();
        assert!(attempt(&there, &behind).await.is_some());
        if waited < retry_after / 2 {
            return;
        }
        late.push((waited, retry_after));
    }
    panic!("notified late in each round: {late:?}");
}

/// Checks that each holder's lease ends after its own TTL, whatever the TTLs of the other holders are.
pub async fn each_shared_holder_expires_after_its_own_ttl<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    let ttl = short_ttl(&here);
    let mut modes = Vec::new();
    if here.capabilities().shared {
        modes.push((Mode::Shared, Mode::Exclusive));
    }
    if here.capabilities().permits {
        modes.push((permits(1, 2), permits(2, 2)));
    }
    for (mode, all) in modes {
        let key = fresh_key("own_lease");
        let short = || Attempt::new(key.clone(), ttl, false).in_mode(mode);
        let (sent, _, dead) = take_soon(&here, short).await;
        let alive = take(&there, &trying(&key, mode)).await;
        eventually("one is left", async || {
            inspect(&there, &key).await.holders == 1
        })
        .await;
        assert!(sent.elapsed() >= ttl, "gone after {:?}", sent.elapsed());
        assert!(!is_held(&here, &dead).await);
        assert!(is_held(&there, &alive).await);
        assert_eq!(attempt(&there, &trying(&key, all)).await, None);
        release(&there, &alive).await;
        // The holder of the longest lease has released, so that lease must not block waiters.
        take(&there, &trying(&key, all)).await;
    }
}

/// Checks that a shared holder that renews keeps the lock, while the leases of other shared holders expire.
pub async fn a_renewed_shared_holder_does_not_expire<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared {
        return;
    }
    // With this TTL, a renewal is usually in time even on a busy machine.
    let ttl = short_ttl(&here) * 4;
    until_in_time(ttl, async |ttl| renewals_keep_one(&here, &there, ttl).await).await;
}

/// Returns false if a request came after the end of the lease, which may happen on a busy machine. Then the round says
/// nothing.
async fn renewals_keep_one(here: &impl Backend, there: &impl Backend, ttl: Duration) -> bool {
    let key = fresh_key("share_goes_on");
    let short = || Attempt::new(key.clone(), ttl, false).in_mode(Mode::Shared);
    let (mut sent, _, kept) = take_soon(here, short).await;
    let dead = take(there, &short()).await;
    for _ in 0..8 {
        sleep(ttl / 4).await;
        let now = Instant::now();
        let renewed = before(sent + ttl, async || renew_once(here, &kept).await).await;
        let Some(renewed) = renewed else { return false };
        assert!(
            matches!(renewed, RenewAnswer::Extended { .. }),
            "{renewed:?}"
        );
        sent = now;
        let rival = trying(&key, Mode::Exclusive);
        let busy = before(sent + ttl, async || there.attempt(&rival).await).await;
        let Some(busy) = busy else { return false };
        assert!(matches!(busy, AttemptAnswer::Busy { .. }), "{busy:?}");
    }
    assert!(!is_held(there, &dead).await);
    true
}

/// Checks that a writer becomes a reader without a gap, even if it sends a duplicate request, and that waiting readers
/// then acquire the lock.
pub async fn a_downgrade_lets_waiting_readers_acquire<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared {
        return;
    }
    let key = fresh_key("downgrade");
    let mut held = take(&here, &trying(&key, Mode::Exclusive)).await;
    let waiting = queueing(&key, Mode::Shared);
    assert_eq!(attempt(&there, &waiting).await, None);
    let mut foreign = trying(&key, Mode::Exclusive).claim(held.token);
    assert!(!downgrade(&there, &mut foreign).await);
    for _ in 0..2 {
        assert!(downgrade(&here, &mut held).await);
        assert!(is_held(&here, &held).await);
        assert_eq!(attempt(&there, &trying(&key, Mode::Exclusive)).await, None);
    }
    let reader = queue_for(&there, &waiting).await;
    assert!(reader.token > held.token);
    release(&here, &held).await;
    assert!(!downgrade(&here, &mut held).await);
    assert!(is_held(&there, &reader).await);
    release(&there, &reader).await;
    assert!(inspect(&here, &key).await.is_free());
}

/// Checks that the number of held permits never exceeds the limit, and that several permits are acquired and released
/// together.
pub async fn held_permits_never_exceed_the_limit<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().permits {
        return;
    }
    let key = fresh_key("permits");
    let two = take(&here, &trying(&key, permits(2, 3))).await;
    assert_eq!(attempt(&there, &trying(&key, permits(2, 3))).await, None);
    let one = take(&there, &trying(&key, permits(1, 3))).await;
    assert!(one.token != two.token);
    assert_eq!(inspect(&there, &key).await.holders, 3);
    assert_eq!(attempt(&here, &trying(&key, permits(1, 3))).await, None);
    release(&here, &two).await;
    assert_eq!(inspect(&there, &key).await.holders, 1);
    take(&here, &trying(&key, permits(2, 3))).await;
    assert_eq!(attempt(&here, &trying(&key, permits(1, 3))).await, None);
}

/// Checks that waiters for few permits do not overtake a waiter for many permits.
pub async fn waiters_for_few_permits_do_not_overtake_one_for_many<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().permits || !here.capabilities().fifo {
        return;
    }
    let key = fresh_key("in_turn");
    let first = take(&here, &queueing(&key, permits(1, 3))).await;
    let second = take(&here, &queueing(&key, permits(1, 3))).await;
    let all = queueing(&key, permits(3, 3));
    assert_eq!(attempt(&there, &all).await, None);
    let few = queueing(&key, permits(1, 3));
    assert_eq!(attempt(&here, &few).await, None);
    release(&here, &first).await;
    assert_eq!(attempt(&here, &few).await, None);
    release(&here, &second).await;
    let all = queue_for(&there, &all).await;
    assert_eq!(attempt(&here, &few).await, None);
    release(&there, &all).await;
    queue_for(&here, &few).await;
}

/// Checks that each attempt applies its own limit: no holder loses its permits when the limit changes.
pub async fn each_attempt_applies_its_own_permit_limit<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().permits {
        return;
    }
    let key = fresh_key("own_number");
    let held = take(&here, &trying(&key, permits(3, 3))).await;
    assert_eq!(attempt(&there, &trying(&key, permits(1, 3))).await, None);
    let more = take(&there, &trying(&key, permits(1, 4))).await;
    assert_eq!(attempt(&there, &trying(&key, permits(1, 2))).await, None);
    assert!(is_held(&here, &held).await);
    release(&here, &held).await;
    take(&there, &trying(&key, permits(1, 2))).await;
    assert!(is_held(&there, &more).await);
}

/// Checks that the backend refuses a semaphore on a key that is in use as a lock, and the reverse.
pub async fn a_key_in_use_as_a_lock_refuses_permits_and_the_reverse<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    let capabilities = backend.capabilities();
    if !capabilities.permits {
        return;
    }
    let mut locks = vec![Mode::Exclusive];
    if capabilities.shared {
        locks.push(Mode::Shared);
    }
    for mode in locks {
        let key = fresh_key("mixed");
        let held = take(&backend, &trying(&key, mode)).await;
        let mixed = refusal(&backend, &queueing(&key, permits(1, 9))).await;
        assert_eq!(mixed, Some(Refusal::OtherKind));
        release(&backend, &held).await;
        let held = take(&backend, &trying(&key, permits(1, 9))).await;
        let mixed = refusal(&backend, &queueing(&key, mode)).await;
        assert_eq!(mixed, Some(Refusal::OtherKind));
        assert_eq!(inspect(&backend, &key).await.waiting, 0);
        release(&backend, &held).await;
        assert!(inspect(&backend, &key).await.is_free());
    }
}

/// Checks that a lock can be handed to one other holder, once, with a larger token.
pub async fn a_handover_is_accepted_only_once<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().handover {
        return;
    }
    let key = fresh_key("handover");
    let given = take(&here, &queueing(&key, Mode::Exclusive)).await;
    let waiting = queueing(&key, Mode::Exclusive);
    assert_eq!(attempt(&here, &waiting).await, None);
    let handover = hand_over(&here, &given).await;
    let taking = || queueing(&key, Mode::Exclusive).taking_up(Some(Box::new(handover.clone())));
    let (first, second) = (taking(), taking());
    let taken = take(&there, &first).await;
    assert!(taken.token > given.token);
    assert_eq!(attempt(&there, &first).await, Some(taken.token));
    let spent = Some(Refusal::HandoverSpent);
    assert_eq!(refusal(&there, &second).await, spent);
    assert!(!is_held(&here, &given).await);
    assert_eq!(release(&here, &given).await, ReleaseAnswer::AlreadyGone);
    assert!(is_held(&there, &taken).await);
    release(&there, &taken).await;
    assert_eq!(refusal(&there, &taking()).await, spent);
    queue_for(&here, &waiting).await;
}

/// Checks that a client that knows only a lock's holder cannot accept the lock if it was not handed over. A client
/// cannot accept a handed-over lock without its secret. A secret is invalid after its lock was released.
pub async fn a_handover_without_its_valid_secret_is_refused<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().handover {
        return;
    }
    let key = fresh_key("forged");
    let given = take(&here, &queueing(&key, Mode::Exclusive)).await;
    let taking = |handover: &Handover| {
        queueing(&key, Mode::Exclusive).taking_up(Some(Box::new(handover.clone())))
    };
    let spent = Some(Refusal::HandoverSpent);
    let forged = Handover::new(&given, HandoverSecret::random());
    assert_eq!(refusal(&there, &taking(&forged)).await, spent);
    let handover = hand_over(&here, &given).await;
    let mut other = handover.clone();
    other.token = FencingToken::try_from(given.token.get() - 1).expect("a token");
    for wrong in [&forged, &other] {
        assert_eq!(refusal(&there, &taking(wrong)).await, spent);
    }
    // A second handover has another secret, and only the last secret is valid.
    let last = hand_over(&here, &given).await;
    assert_eq!(refusal(&there, &taking(&handover)).await, spent);
    let taken = take(&there, &taking(&last)).await;
    release(&there, &taken).await;

    let given = take(&here, &queueing(&key, Mode::Exclusive)).await;
    let handover = hand_over(&here, &given).await;
    release(&here, &given).await;
    assert_eq!(refusal(&there, &taking(&handover)).await, spent);
    let gone = HandoverSecret::random();
    let reply = insist(async || here.hand_over(&given, gone).await).await;
    assert_eq!(reply, RenewAnswer::Gone);
    let held = take(&here, &queueing(&key, Mode::Exclusive)).await;
    assert_eq!(refusal(&there, &taking(&handover)).await, spent);
    release(&here, &held).await;
}

/// Checks that an operator takes a lock from all of its shared holders.
pub async fn a_forced_release_takes_the_lock_from_all_shared_holders<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().shared {
        return;
    }
    let key = fresh_key("shares_forced");
    let first = take(&here, &trying(&key, Mode::Shared)).await;
    let second = take(&there, &trying(&key, Mode::Shared)).await;
    insist(async || there.force_release(&key).await).await;
    let writer = take(&there, &trying(&key, Mode::Exclusive)).await;
    for claim in [&first, &second] {
        assert!(!is_held(&here, claim).await);
        assert_eq!(release(&here, claim).await, ReleaseAnswer::AlreadyGone);
    }
    release(&there, &writer).await;
    take(&here, &trying(&key, Mode::Shared)).await;
    assert_eq!(inspect(&here, &key).await.holders, 1);
}
