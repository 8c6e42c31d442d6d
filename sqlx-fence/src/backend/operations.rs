//! The operations on one row: in one statement where possible, and otherwise by compare-and-set.

use std::time::{Duration, Instant};

use leasehold::backend::key_state::{KeyState, Step, Timing, next_token};
use leasehold::backend::{
    Applied, Attempt, AttemptAnswer, BackendError, Claim, Inspection, ListCursor, ListPage, Mode,
};
use leasehold::{AttemptId, FencingToken, Key};
use sqlx::pool::PoolConnection;
use tokio::time::sleep;

use super::database::LockDatabase;
use super::record::{Reading, Record, Taken};
use super::requests::expiry_after;
use super::times::time;
use super::{SqlBackend, error};

/// The longest pause before a change is repeated because another client has changed the row.
const LONGEST_PAUSE: Duration = Duration::from_millis(40);

/// Draws the next token of the key, at most once in an operation.
pub(super) type Tokens<'a> = &'a mut dyn FnMut() -> Result<FencingToken, BackendError>;

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Acquires a free lock in one statement.
    pub(super) async fn take(&self, attempt: &Attempt, expiry: i64) -> Result<Taken, BackendError> {
        let mut connection = self.connection().await?;
        let request = self.requests.sending(attempt.owner, expiry);
        let sent = Instant::now();
        match DB::take(&mut connection, attempt, expiry).await {
            Ok(taken) => {
                request.answered();
                if let Taken::Busy(reading) = &taken {
                    self.requests.observe(sent, reading.now);
                }
                Ok(taken)
            }
            Err(failed) if DB::obstacle(&failed).is_some() => {
                request.answered();
                drop(connection);
                Ok(Taken::Busy(self.read(&attempt.key).await?))
            }
            Err(failed) => {
                let failed = error::of(failed, &attempt.key);
                if failed.applied() == Applied::No {
                    request.answered();
                }
                Err(failed)
            }
        }
    }

    /// Attempts by reading and writing the row, which the caller may have read.
    pub(super) async fn attempt_in_steps(
        &self,
        attempt: &Attempt,
        mut read: Option<Reading>,
    ) -> Result<AttemptAnswer, BackendError> {
        let mut tries = Tries::default();
        loop {
            let reading = match read.take() {
                Some(reading) => reading,
                None => self.read(&attempt.key).await?,
            };
            let change = changed(&attempt.key, &reading, 0, |key, tokens, step| {
                key.attempt(attempt, tokens, step)
            })?;
            let expiry = expiry_after(reading.now);
            let request = self.requests.sending(attempt.owner, expiry);
            let written = self.write(&attempt.key, change, expiry).await;
            if !matches!(&written, Err(error) if error.applied() == Applied::Unknown) {
                request.answered();
            }
            if let Some(answer) = written? {
                return Ok(answer);
            }
            tries.pause().await;
        }
    }

    /// Changes the state of a key. No statement of `copies_until` or earlier can acquire the lock afterwards.
    pub(super) async fn change<T>(
        &self,
        key: &Key,
        copies_until: i64,
        change: impl Fn(&mut KeyState, Tokens<'_>, &mut Step<'_>) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let mut tries = Tries::default();
        loop {
            let reading = self.read(key).await?;
            let changed = changed(key, &reading, copies_until, &change)?;
            if let Some(answer) = self.write(key, changed, i64::MAX).await? {
                return Ok(answer);
            }
            tries.pause().await;
        }
    }

    /// Writes a changed row, and notifies its waiters. Returns `None` if another client has changed the row.
    async fn write<T>(
        &self,
        key: &Key,
        changed: Changed<T>,
        expiry: i64,
    ) -> Result<Option<T>, BackendError> {
        let (local, remote): (Vec<String>, Vec<String>) = changed
            .notified
            .iter()
            .map(AttemptId::to_string)
            .partition(|waiter| self.waiters.find(waiter).is_some());
        if let Some(after) = &changed.after {
            let mut connection = self.connection().await?;
            let written = if changed.exists {
                DB::update(&mut connection, key.full(), after, &remote).await
            } else {
                DB::insert(&mut connection, key.full(), after, expiry).await
            };
            match written {
                Ok(true) => {}
                Ok(false) => return Ok(None),
                Err(failed) if DB::obstacle(&failed).is_some() => return Ok(None),
                Err(failed) => return Err(error::of(failed, key)),
            }
        }
        for waiter in local {
            self.waiters.notify(&waiter);
        }
        Ok(Some(changed.answer))
    }

    pub(super) async fn read(&self, key: &Key) -> Result<Reading, BackendError> {
        let mut connection = self.connection().await?;
        let sent = Instant::now();
        let reading = DB::read(&mut connection, key.full()).await;
        let reading = reading.map_err(|it| error::of(it, key))?;
        self.requests.observe(sent, reading.now);
        Ok(reading)
    }

    /// Renews the leases of exclusive holders in one statement, and returns the owners of the renewed leases.
    pub(super) async fn renew_exclusive(
        &self,
        claims: &[Claim],
    ) -> Result<Vec<AttemptId>, BackendError> {
        let exclusive = claims.iter().filter(|it| it.mode == Mode::Exclusive);
        let exclusive: Vec<&Claim> = exclusive.collect();
        let Some(first) = exclusive.first() else {
            return Ok(Vec::new());
        };
        let mut connection = self.connection().await?;
        let renewed = DB::renew(&mut connection, &exclusive).await;
        renewed.map_err(|it| error::of(it, &first.key))
    }

    /// Releases an exclusive lock without waiters in one statement. Returns false if nothing changed.
    pub(super) async fn release_alone(&self, claim: &Claim) -> Result<bool, BackendError> {
        let mut connection = self.connection().await?;
        match DB::release(&mut connection, claim).await {
            Err(failed) if DB::obstacle(&failed).is_some() => Ok(false),
            released => released.map_err(|it| error::of(it, &claim.key)),
        }
    }

    /// Returns whether an attempt has a position in the queue, and no grant.
    pub(super) async fn still_waits(&self, attempt: &Attempt) -> Result<bool, BackendError> {
        let reading = self.read(&attempt.key).await?;
        let mut state = state_of(&attempt.key, &reading)?;
        let mut notify = |_, (): &()| {};
        state.settle(&mut Step::new(
            time(reading.now),
            Timing::new(),
            &mut notify,
        ));
        Ok(state.waiter(attempt.owner).is_some() && !state.holds(attempt.owner))
    }

    pub(super) fn inspected(key: &Key, reading: &Reading) -> Result<Inspection, BackendError> {
        let mut notify = |_, (): &()| {};
        let mut step = Step::new(time(reading.now), Timing::new(), &mut notify);
        Ok(state_of(key, reading)?.inspect(&mut step))
    }

    /// Returns the held locks on the next keys that begin with `prefix`. The database sorts the keys by their bytes.
    pub(super) async fn page(
        &self,
        prefix: &str,
        from: Option<&str>,
    ) -> Result<ListPage, BackendError> {
        let pattern = Key::new("", &format!("{prefix}*"));
        let pattern =
            pattern.map_err(|it| BackendError::not_applied(it.to_string()).permanent())?;
        let mut connection = self.connection().await?;
        let rows = DB::list(&mut connection, from.unwrap_or(prefix)).await;
        let rows = rows.map_err(|it| error::of(it, &pattern))?;
        // No key contains a control character, so no key is between the last key and the next page.
        let next = rows.last().filter(|(key, _)| key.starts_with(prefix));
        let next = next.map(|(key, _)| ListCursor::new(format!("{key}\u{1}")));
        let mut held = Vec::new();
        for (name, reading) in rows {
            if name.starts_with(prefix)
                && let Ok(key) = Key::new("", &name)
            {
                let state = Self::inspected(&key, &reading)?;
                if state.holders > 0 {
                    held.push((name, state));
                }
            }
        }
        Ok(ListPage::new(held, next))
    }

    async fn connection(&self) -> Result<PoolConnection<DB>, BackendError> {
        self.pool.acquire().await.map_err(error::of_pool)
    }
}

/// Applies a change to a row that was read.
fn changed<T>(
    key: &Key,
    reading: &Reading,
    copies_until: i64,
    change: impl FnOnce(&mut KeyState, Tokens<'_>, &mut Step<'_>) -> Result<T, BackendError>,
) -> Result<Changed<T>, BackendError> {
    let absent = Record::absent();
    let before = reading.record.as_ref().unwrap_or(&absent);
    let mut state = before.state().map_err(|it| error::damaged(it, key))?;
    let (mut notified, mut token) = (Vec::new(), before.token);
    let now = time(reading.now);
    let mut tokens = || {
        let drawn = next_token(now, before.token)?;
        token = drawn.get();
        Ok(drawn)
    };
    let mut notify = |owner, (): &()| notified.push(owner);
    let mut step = Step::new(now, Timing::new(), &mut notify);
    let answer = change(&mut state, &mut tokens, &mut step)?;
    let after = before.with(&state, token, copies_until);
    Ok(Changed {
        answer,
        after: (after != *before).then_some(after),
        exists: reading.record.is_some(),
        notified,
    })
}

fn state_of(key: &Key, reading: &Reading) -> Result<KeyState, BackendError> {
    let state = reading.record.as_ref().map(Record::state).transpose();
    Ok(state
        .map_err(|it| error::damaged(it, key))?
        .unwrap_or_default())
}

/// A change that is not written yet.
struct Changed<T> {
    answer: T,
    /// The row to write, or `None` if it does not change.
    after: Option<Record>,
    exists: bool,
    notified: Vec<AttemptId>,
}

/// Lengthens the pauses between the tries of a contended change.
#[derive(Debug, Default)]
struct Tries {
    pause: Duration,
}

impl Tries {
    async fn pause(&mut self) {
        let longest = (self.pause * 2).clamp(Duration::from_millis(1), LONGEST_PAUSE);
        self.pause = longest;
        sleep(longest.mul_f64(fastrand::f64())).await;
    }
}
