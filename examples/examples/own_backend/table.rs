//! Locks in a table.

use std::collections::HashMap;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use leasehold::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Inspection, ReleaseAnswer,
    RenewAnswer, async_trait,
};
use leasehold::{AttemptId, FencingToken, Key};
use tokio::time::{Instant, sleep};

/// How often a waiter checks the lock. With a server that sends notifications, `wait` would wait for these instead.
const LOOK: Duration = Duration::from_millis(20);
/// How often a waiter refreshes its position in the queue, and when a position without refresh expires.
const REFRESH: Duration = Duration::from_secs(1);
const PLACE: Duration = Duration::from_secs(3);

/// All rows, shared by all processes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Table(Arc<Mutex<HashMap<Key, Row>>>);

/// The row of a key. It is never deleted, because it has the newest token.
#[derive(Debug, Default)]
struct Row {
    token: i64,
    holder: Option<(AttemptId, Instant)>,
    queue: Vec<(AttemptId, Instant)>,
}

impl Row {
    /// Removes expired holders and waiters, by the clock of the table.
    fn sweep(&mut self) {
        let now = Instant::now();
        self.holder = self.holder.filter(|(_, until)| *until > now);
        self.queue.retain(|(_, until)| *until > now);
    }

    fn is_held_by(&self, owner: AttemptId) -> bool {
        self.holder.is_some_and(|(holder, _)| holder == owner)
    }

    fn is_turn_of(&self, owner: AttemptId) -> bool {
        let first = self.queue.first();
        self.holder.is_none() && first.is_none_or(|(waiter, _)| *waiter == owner)
    }

    fn token(&self) -> Result<FencingToken, BackendError> {
        // Fails only after nine quintillion acquisitions.
        FencingToken::try_from(self.token)
            .map_err(|error| BackendError::not_applied("the token is invalid").with_source(error))
    }
}

impl Table {
    /// Runs an atomic operation on a row.
    fn step<T>(&self, key: &Key, step: impl FnOnce(&mut Row) -> T) -> T {
        let mut rows: MutexGuard<'_, _> = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let row: &mut Row = rows.entry(key.clone()).or_default();
        row.sweep();
        step(row)
    }

    fn leave(row: &mut Row, owner: AttemptId) -> bool {
        row.queue.retain(|(waiter, _)| *waiter != owner);
        row.holder.take_if(|(holder, _)| *holder == owner).is_some()
    }
}

#[async_trait]
impl Backend for Table {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Duration::from_millis(10)).with_fifo(true)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let (owner, now) = (attempt.owner, Instant::now());
        self.step(&attempt.key, |row| {
            let again = row.is_held_by(owner);
            if again || row.is_turn_of(owner) {
                Self::leave(row, owner);
                row.holder = Some((owner, now + attempt.ttl));
                row.token += i64::from(!again);
                let (token, lease) = (row.token()?, attempt.ttl);
                return Ok(AttemptAnswer::Granted { token, lease });
            }
            let place = row.queue.iter_mut().find(|(waiter, _)| *waiter == owner);
            match place {
                Some((_, until)) => *until = now + PLACE,
                None if attempt.queue => row.queue.push((owner, now + PLACE)),
                None => {}
            }
            let left = row.holder.map_or(REFRESH, |(_, until)| until - now);
            Ok(AttemptAnswer::Busy {
                retry_after: left.min(REFRESH),
            })
        })
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        while !self.step(&attempt.key, |row| row.is_turn_of(attempt.owner)) {
            sleep(LOOK).await;
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let renew = |claim: &Claim| {
            self.step(&claim.key, |row| {
                // A lock under another token has expired.
                let newest = row.token == claim.token.get();
                match &mut row.holder {
                    Some((holder, until)) if newest && *holder == claim.owner => {
                        *until = Instant::now() + claim.ttl;
                        RenewAnswer::Extended { lease: claim.ttl }
                    }
                    _ => RenewAnswer::Gone,
                }
            })
        };
        claims.iter().map(|claim| Ok(renew(claim))).collect()
    }

    async fn downgrade(&self, _claim: &Claim) -> Result<RenewAnswer, BackendError> {
        Err(BackendError::not_applied("there are no readers here").permanent())
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        Ok(
            match self.step(&claim.key, |row| Self::leave(row, claim.owner)) {
                true => ReleaseAnswer::Released,
                false => ReleaseAnswer::AlreadyGone,
            },
        )
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.step(&attempt.key, |row| Self::leave(row, attempt.owner));
        Ok(())
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        self.step(key, |row| {
            let mut seen = Inspection::default();
            seen.waiting = row.queue.len();
            if let Some((owner, until)) = row.holder {
                seen.owner = Some(owner.to_string());
                seen.token = Some(row.token()?);
                seen.expires_in = Some(until - Instant::now());
                seen.holders = 1;
            }
            Ok(seen)
        })
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        Ok(self.step(key, |row| row.holder.take().is_some()))
    }

    async fn interrupted(&self, _seen: u64) -> u64 {
        // The connection to this table cannot be interrupted.
        pending().await
    }

    async fn close(&self) {}
}
