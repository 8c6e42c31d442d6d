//! Waiters without a turn in the queue, as the candidates of an election are.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::{Attempt, AttemptAnswer, Backend, Claim};
use tokio::time::{Instant, timeout};

const TTL: Duration = Duration::from_secs(30);

/// A waiter receives the notification within this time, which is shorter than each interval of polls.
const NOTIFIED: Duration = Duration::from_millis(900);

/// The number of rounds in which a busy machine may be late. A waiter without a notification is late in each.
const ROUNDS: usize = 10;

pub(crate) fn attempt(key: &str, fair: bool) -> Attempt {
    let key = Key::new("lock:", key).unwrap();
    Attempt::new(key, TTL, true).fair(fair)
}

/// Sends the attempt. Returns the claim if the backend granted the lock.
pub(crate) async fn acquires(backend: &impl Backend, attempt: &Attempt) -> Option<Claim> {
    match backend.attempt(attempt).await.unwrap() {
        AttemptAnswer::Granted { token, .. } => Some(attempt.claim(token)),
        AttemptAnswer::Busy { .. } => None,
        other => panic!("{other:?}"),
    }
}

/// Returns the holder of a lock for which these attempts then wait, each in its own process.
async fn held_before<B: Backend>(backends: &[B], fair: bool, waiters: &[Attempt]) -> Claim {
    let holder = attempt(waiters[0].key.name(), fair);
    let held = acquires(&backends[0], &holder).await.unwrap();
    for (backend, waiter) in backends[1..].iter().zip(waiters) {
        assert!(acquires(backend, waiter).await.is_none());
    }
    held
}

async fn three<B: Backend>(connect: &impl AsyncFn() -> B) -> [B; 3] {
    [connect().await, connect().await, connect().await]
}

pub(crate) async fn a_silent_waiter_delays_others_only_if_it_has_a_turn<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    for (fair, by_fair) in [(false, false), (false, true), (true, true)] {
        let backends = three(&connect).await;
        for round in 0.. {
            assert!(round < ROUNDS, "late in each round: {fair} {by_fair}");
            let key = format!("silent-{fair}-{by_fair}-{round}");
            let [silent, waiter] = [(); 2].map(|()| attempt(&key, fair));
            let held = held_before(&backends, by_fair, &[silent, waiter.clone()]).await;
            backends[0].release(&held).await.unwrap();
            let notified = timeout(NOTIFIED, backends[2].wait(&waiter)).await;
            assert!(notified.is_err() || !fair);
            let acquired = acquires(&backends[2], &waiter).await;
            assert_eq!(acquired.is_some(), !fair);
            if notified.is_ok() != fair {
                break;
            }
        }
    }
}

pub(crate) async fn each_waiter_is_notified_and_one_acquires<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backends = three(&connect).await;
    for round in 0..ROUNDS {
        let waiters = [(); 2].map(|()| attempt(&format!("notified-{round}"), false));
        let held = held_before(&backends, true, &waiters).await;
        backends[0].release(&held).await.unwrap();
        let (mut acquired, mut are_swift) = (Vec::new(), true);
        for (backend, waiter) in backends[1..].iter().zip(&waiters) {
            match timeout(NOTIFIED, backend.wait(waiter)).await {
                Ok(waited) => waited.unwrap(),
                Err(_late) => are_swift = false,
            }
            acquired.extend(acquires(backend, waiter).await);
        }
        assert_eq!(acquired.len(), 1);
        let seen = backends[0].inspect(&held.key).await.unwrap();
        assert_eq!(seen.token, Some(acquired[0].token));
        assert!(acquired[0].token > held.token);
        if are_swift {
            return;
        }
    }
    panic!("late in each round");
}

pub(crate) async fn a_waiter_with_a_turn_precedes_one_without<B: Backend>(
    connect: impl AsyncFn() -> B,
) {
    let backends = three(&connect).await;
    for round in 0..ROUNDS {
        let [unfair, fair] = [false, true].map(|fair| attempt(&format!("precedes-{round}"), fair));
        let waiters = [unfair.clone(), fair.clone()];
        let held = held_before(&backends, false, &waiters).await;
        let released = Instant::now();
        backends[0].release(&held).await.unwrap();
        let overtakes = acquires(&backends[1], &unfair).await;
        // The waiter with a turn has only some time for its confirmation.
        if released.elapsed() > NOTIFIED {
            continue;
        }
        assert!(overtakes.is_none());
        let Some(next) = acquires_once_notified(&backends[2], &fair).await else {
            continue;
        };
        backends[2].release(&next).await.unwrap();
        if acquires_once_notified(&backends[1], &unfair)
            .await
            .is_some()
        {
            return;
        }
    }
    panic!("late in each round");
}

/// Returns `None` if the notification is late.
async fn acquires_once_notified(backend: &impl Backend, waiter: &Attempt) -> Option<Claim> {
    loop {
        if let Some(claim) = acquires(backend, waiter).await {
            return Some(claim);
        }
        let notified = timeout(NOTIFIED, backend.wait(waiter)).await;
        notified.ok()?.unwrap();
    }
}
