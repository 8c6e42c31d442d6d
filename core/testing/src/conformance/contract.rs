//! Behaviour that the manager relies on, tested on the `Backend` trait.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::helpers::{
    attempt, before, eventually, fresh_key, insist, queue_for, short_ttl, take, take_soon,
    until_in_time,
};
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Claim, Inspection, ReleaseAnswer, RenewAnswer,
};
use leasehold_core::{FencingToken, Key};

const TTL: Duration = Duration::from_secs(30);

fn trying(key: &Key) -> Attempt {
    Attempt::new(key.clone(), TTL, false)
}

fn queueing(key: &Key) -> Attempt {
    Attempt::new(key.clone(), TTL, true)
}

async fn release(backend: &impl Backend, claim: &Claim) -> ReleaseAnswer {
    insist(async || backend.release(claim).await).await
}

async fn cleanup(backend: &impl Backend, attempt: &Attempt) {
    insist(async || backend.cleanup(attempt).await).await;
}

async fn inspect(backend: &impl Backend, key: &Key) -> Inspection {
    insist(async || backend.inspect(key).await).await
}

async fn renew_once(backend: &impl Backend, claim: &Claim) -> Result<RenewAnswer, BackendError> {
    let mut answers = backend.renew(std::slice::from_ref(claim)).await;
    answers.pop().expect("an answer per claim")
}

async fn renew(backend: &impl Backend, claim: &Claim) -> RenewAnswer {
    insist(async || renew_once(backend, claim).await).await
}

/// Checks that a held lock cannot be acquired until it is released.
pub async fn one_holder_at_a_time<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("one_holder");
    let (first, second) = (trying(&key), trying(&key));
    let held = take(&here, &first).await;
    assert_eq!(attempt(&there, &second).await, None);
    assert_eq!(attempt(&here, &second).await, None);
    assert_eq!(release(&here, &held).await, ReleaseAnswer::Released);
    let _held = take(&there, &second).await;
    assert_eq!(attempt(&here, &first).await, None);
}

/// Checks that locks on different keys are independent.
pub async fn keys_are_independent<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    let (one, other) = (trying(&fresh_key("one")), trying(&fresh_key("other")));
    let held = take(&backend, &one).await;
    let other = take(&backend, &other).await;
    assert_eq!(release(&backend, &held).await, ReleaseAnswer::Released);
    assert!(matches!(
        renew(&backend, &other).await,
        RenewAnswer::Extended { .. }
    ));
}

/// Checks that a duplicate request belongs to the same acquisition: the reply contains the same token, and one release
/// frees the lock.
pub async fn a_duplicate_request_returns_the_same_grant<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    let key = fresh_key("repeated");
    let request = trying(&key);
    let held = take(&backend, &request).await;
    for _ in 0..3 {
        assert_eq!(attempt(&backend, &request).await, Some(held.token));
    }
    assert_eq!(release(&backend, &held).await, ReleaseAnswer::Released);
    assert_eq!(release(&backend, &held).await, ReleaseAnswer::AlreadyGone);
    assert!(inspect(&backend, &key).await.is_free());
}

/// Checks that a duplicate request renews the lease.
pub async fn a_duplicate_request_renews_the_lease<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    let ttl = short_ttl(&backend);
    until_in_time(ttl, async |ttl| duplicates_renew(&backend, ttl).await).await;
}

/// Returns false if a request came after the end of the lease, which may happen on a busy machine. Then the round says
/// nothing.
async fn duplicates_renew(backend: &impl Backend, ttl: Duration) -> bool {
    let key = fresh_key("again");
    let request = || Attempt::new(key.clone(), ttl, false);
    let (mut sent, request, first) = take_soon(backend, request).await;
    for _ in 0..6 {
        sleep(ttl / 2).await;
        let now = Instant::now();
        let again = before(sent + ttl, async || backend.attempt(&request).await).await;
        let Some(again) = again else { return false };
        assert!(
            matches!(again, AttemptAnswer::Granted { token, .. } if token == first.token),
            "{again:?} and not {first:?}"
        );
        sent = now;
        if !stays_taken(backend, &key, sent + ttl).await {
            return false;
        }
    }
    true
}

/// Checks that another attempt does not acquire the lock before `end`. Returns false if it has no reply in time.
async fn stays_taken(backend: &impl Backend, key: &Key, end: Instant) -> bool {
    let rival = trying(key);
    let answer = before(end, async || backend.attempt(&rival).await).await;
    let Some(answer) = answer else { return false };
    assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
    true
}

/// Checks that each acquisition's token is larger than all earlier tokens, however the previous acquisition ended.
pub async fn each_token_is_larger_than_all_earlier_ones<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    let ttl = short_ttl(&here);
    let key = fresh_key("tokens");
    let mut last: Option<FencingToken> = None;
    for round in 0..30 {
        let backend = if round % 2 == 0 { &here } else { &there };
        let request = Attempt::new(key.clone(), ttl, true);
        let held = queue_for(backend, &request).await;
        assert!(Some(held.token) > last, "{} after {last:?}", held.token);
        last = Some(held.token);
        match round % 5 {
            0 => cleanup(backend, &request).await,
            1 => {
                insist(async || backend.force_release(&key).await).await;
            }
            // This round lets the lease expire.
            2 => {}
            _ => {
                release(backend, &held).await;
            }
        }
    }
}

/// Checks that only the holder can release a lock.
pub async fn only_the_holder_can_release<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("releases");
    let held = take(&here, &trying(&key)).await;
    let foreign = trying(&key).claim(held.token);
    assert_eq!(release(&there, &foreign).await, ReleaseAnswer::AlreadyGone);
    assert_eq!(attempt(&there, &trying(&key)).await, None);
    cleanup(&there, &trying(&key)).await;
    assert_eq!(attempt(&there, &trying(&key)).await, None);
}

/// Checks that only the holder can renew a lock, and that a batch has one reply per claim, in order.
pub async fn only_the_holder_can_renew<B: Backend>(connect: impl AsyncFn() -> B) {
    let backend = connect().await;
    let (key, other) = (fresh_key("renews"), fresh_key("renews"));
    let held = take(&backend, &trying(&key)).await;
    let foreign = trying(&key).claim(held.token);
    let free = trying(&other).claim(held.token);
    let batch = [foreign, held.clone(), free];
    let answers = insist(async || backend.renew(&batch).await.into_iter().collect()).await;
    let answers: Vec<RenewAnswer> = answers;
    assert!(
        matches!(
            answers[..],
            [RenewAnswer::Gone, RenewAnswer::Extended { lease }, RenewAnswer::Gone] if lease <= TTL
        ),
        "{answers:?}"
    );
    let mut stale = held.clone();
    stale.token = FencingToken::try_from(held.token.get() + 1).expect("a larger token is one");
    assert_eq!(renew(&backend, &stale).await, RenewAnswer::Gone);
    release(&backend, &held).await;
    assert_eq!(renew(&backend, &held).await, RenewAnswer::Gone);
    assert!(inspect(&backend, &other).await.is_free());
}

/// Checks that the backend notifies a waiter well before its next poll is due, even if the lock becomes free between
/// the busy reply and the wait.
pub async fn a_release_before_or_during_a_wait_notifies_the_waiter<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    for turn_comes_first in [true, false] {
        // A busy machine may be late in some rounds. Without a notification, each round is late.
        let mut late = Vec::new();
        loop {
            let (waited, retry_after) = notified(&here, &there, turn_comes_first).await;
            if waited < retry_after / 2 {
                break;
            }
            late.push(waited);
            assert!(
                late.len() < 10,
                "notified after {late:?} of {retry_after:?}"
            );
        }
    }
}

/// Returns how long a waiter waited, and when its next poll would have been due.
async fn notified(
    here: &impl Backend,
    there: &impl Backend,
    turn_comes_first: bool,
) -> (Duration, Duration) {
    let key = fresh_key("wake_up");
    let held = take(here, &queueing(&key)).await;
    let waiter = queueing(&key);
    let busy = insist(async || there.attempt(&waiter).await).await;
    let AttemptAnswer::Busy { retry_after } = busy else {
        panic!("{busy:?}");
    };
    if turn_comes_first {
        release(here, &held).await;
    }
    let started = Instant::now();
    // An injected fault also ends the wait. A manager then polls, and so does this case.
    let hint = tokio::time::timeout(retry_after, there.wait(&waiter));
    let (_hint, ()) = tokio::join!(hint, async {
        if !turn_comes_first {
            sleep(Duration::from_millis(50)).await;
            release(here, &held).await;
        }
    });
    let waited = started.elapsed();
    queue_for(there, &waiter).await;
    (waited, retry_after)
}

/// Checks that a lease expires if it is not renewed, but not before its TTL has passed.
pub async fn a_lease_expires_after_its_ttl<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    let ttl = short_ttl(&here);
    let key = fresh_key("runs_out");
    let (sent, _, held) = take_soon(&here, || Attempt::new(key.clone(), ttl, false)).await;
    let next = trying(&key);
    eventually("a lease expires", async || {
        attempt(&there, &next).await.is_some()
    })
    .await;
    assert!(sent.elapsed() >= ttl, "free after {:?}", sent.elapsed());
    assert_eq!(renew(&here, &held).await, RenewAnswer::Gone);
    assert_eq!(release(&here, &held).await, ReleaseAnswer::AlreadyGone);
    assert_eq!(attempt(&here, &trying(&key)).await, None);
}

/// Checks that a lease that is renewed does not expire.
pub async fn a_renewed_lease_does_not_expire<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    let ttl = short_ttl(&here);
    until_in_time(ttl, async |ttl| renewals_keep(&here, &there, ttl).await).await;
}

/// Returns false if a request came after the end of the lease, which may happen on a busy machine. Then the round says
/// nothing.
async fn renewals_keep(here: &impl Backend, there: &impl Backend, ttl: Duration) -> bool {
    let key = fresh_key("goes_on");
    let (mut sent, _, held) = take_soon(here, || Attempt::new(key.clone(), ttl, false)).await;
    for _ in 0..9 {
        sleep(ttl / 3).await;
        let now = Instant::now();
        let renewed = before(sent + ttl, async || renew_once(here, &held).await).await;
        let Some(renewed) = renewed else { return false };
        assert!(
            matches!(renewed, RenewAnswer::Extended { .. }),
            "{renewed:?}"
        );
        sent = now;
        if !stays_taken(there, &key, sent + ttl).await {
            return false;
        }
    }
    true
}

/// Checks that an attempt that may not queue leaves nothing on the backend if the lock is busy.
pub async fn a_busy_attempt_that_may_not_queue_leaves_nothing<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    let key = fresh_key("busy");
    let held = take(&backend, &trying(&key)).await;
    assert_eq!(attempt(&backend, &trying(&key)).await, None);
    assert_eq!(inspect(&backend, &key).await.waiting, 0);
    release(&backend, &held).await;
    assert!(inspect(&backend, &key).await.is_free());
}

/// Checks that a cleanup undoes a grant and a position in the queue, and that a duplicate cleanup changes nothing.
pub async fn a_cleanup_undoes_a_grant_and_a_queue_position<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backend = connect().await;
    let key = fresh_key("cleanup");
    let (holder, waiter) = (queueing(&key), queueing(&key));
    let held = take(&backend, &holder).await;
    assert_eq!(attempt(&backend, &waiter).await, None);
    for _ in 0..2 {
        cleanup(&backend, &waiter).await;
        let seen = inspect(&backend, &key).await;
        assert_eq!(
            (seen.waiting, seen.owner),
            (0, Some(held.owner.to_string()))
        );
    }
    for _ in 0..2 {
        cleanup(&backend, &holder).await;
        assert!(inspect(&backend, &key).await.is_free());
    }
}

/// Checks that the next waiter gets the lock after a cleanup of the holder.
pub async fn a_cleanup_of_the_holder_lets_the_next_waiter_acquire<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("hands_on");
    let (holder, waiter) = (queueing(&key), queueing(&key));
    let held = take(&here, &holder).await;
    assert_eq!(attempt(&there, &waiter).await, None);
    cleanup(&here, &holder).await;
    assert!(queue_for(&there, &waiter).await.token > held.token);
}

/// Checks that waiters acquire the lock in the order in which they joined the queue. Does nothing if the backend does
/// not have the capability `fifo`.
pub async fn waiters_acquire_in_the_order_of_the_queue<B: Backend>(connect: impl AsyncFn() -> B) {
    let (here, there) = (connect().await, connect().await);
    if !here.capabilities().fifo {
        return;
    }
    let key = fresh_key("fifo");
    let mut held = take(&here, &queueing(&key)).await;
    let waiters: Vec<Attempt> = (0..5).map(|_| queueing(&key)).collect();
    for waiter in &waiters {
        assert_eq!(attempt(&there, waiter).await, None);
    }
    for (place, waiter) in waiters.iter().enumerate() {
        assert_eq!(inspect(&here, &key).await.waiting, waiters.len() - place);
        release(&here, &held).await;
        assert_eq!(attempt(&here, &trying(&key)).await, None);
        for later in &waiters[place + 1..] {
            assert_eq!(attempt(&there, later).await, None);
        }
        held = queue_for(&there, waiter).await;
    }
    release(&here, &held).await;
    assert!(inspect(&here, &key).await.is_free());
}

/// Checks that a waiter that stops polling delays the next waiter, but does not block that waiter.
pub async fn a_waiter_that_stops_polling_does_not_block_the_next_one<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("silent");
    let held = take(&here, &queueing(&key)).await;
    let (silent, live) = (queueing(&key), queueing(&key));
    assert_eq!(attempt(&there, &silent).await, None);
    assert_eq!(attempt(&there, &live).await, None);
    release(&here, &held).await;
    let held = queue_for(&there, &live).await;
    release(&there, &held).await;
    eventually("the position of the silent waiter ends", async || {
        inspect(&here, &key).await.is_free()
    })
    .await;
}

/// Checks that an operator can take a lock from its holder, and that the holder detects the loss.
pub async fn a_forced_release_takes_the_lock_from_its_holder<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("forced");
    let held = take(&here, &trying(&key)).await;
    insist(async || there.force_release(&key).await).await;
    assert_eq!(renew(&here, &held).await, RenewAnswer::Gone);
    assert_eq!(release(&here, &held).await, ReleaseAnswer::AlreadyGone);
    assert!(!insist(async || there.force_release(&key).await).await);
    let next = take(&there, &trying(&key)).await;
    assert!(next.token > held.token);
}

/// Checks that an inspection of a key shows its holder, token, lease and waiters.
pub async fn an_inspection_shows_holder_token_lease_and_waiters<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let (here, there) = (connect().await, connect().await);
    let key = fresh_key("inspected");
    assert_eq!(inspect(&there, &key).await, Inspection::default());
    let held = take(&here, &queueing(&key)).await;
    assert_eq!(attempt(&here, &queueing(&key)).await, None);
    let seen = inspect(&there, &key).await;
    assert_eq!(seen.owner, Some(held.owner.to_string()));
    assert_eq!(seen.token, Some(held.token));
    assert_eq!(seen.waiting, 1);
    let lease = seen.expires_in.expect("a held lock has a lease");
    assert!(lease <= TTL && !lease.is_zero(), "{lease:?}");
}
