//! The operations on one row: in one statement where possible, and otherwise by compare-and-set.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold_core::backend::key_state::{KeyState, Step, next_token};
use leasehold_core::backend::{
    Applied, Attempt, BackendError, Claim, Inspection, ListCursor, ListPage, Mode,
};
use leasehold_core::{AttemptId, FencingToken, Key};
use tokio::time::{sleep, timeout};

use super::attempt_in_process::SqlAttempt;
use super::clock_micros::time;
use super::database::LockDatabase;
use super::database_clock::expiry_after;
use super::local_keys::{LocalKey, announcement};
use super::local_waiters::Waiters;
use super::lock_row::{Reading, Record, Taken};
use super::poll_schedule::timing;
use super::pooled_connection::LentConnection;
use super::shared_row_changes::{Change, Pending, Reason, Tokens};
use super::unanswered_statements::InFlightStatement;
use super::{SqlBackend, error};
use crate::catalog::Obstacle;

/// The longest pause before a change is repeated because another client has changed the row.
const LONGEST_PAUSE: Duration = Duration::from_millis(40);

/// The longest time for which a change waits for another task that writes it.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Acquires a free lock in one statement.
    pub(super) async fn take(&self, attempt: &Attempt, expiry: i64) -> Result<Taken, BackendError> {
        let mut connection = self.connection().await?;
        let request = SqlAttempt::of(attempt).statements.sending(expiry);
        let taken = connection.run(|on| DB::take(on, self.prepare, attempt, expiry));
        let token = |token: Option<i64>| {
            let token = token.map(FencingToken::try_from).transpose();
            token.map_err(|invalid| sqlx::Error::Decode(invalid.into()))
        };
        match taken.await.and_then(token) {
            Ok(Some(token)) => {
                request.answered();
                Ok(Taken::Token(token))
            }
            Err(failed) if DB::obstacle(&failed) != Some(Obstacle::Conflict) => {
                let failed = error::of(failed, &attempt.key);
                if failed.applied() == Applied::No {
                    request.answered();
                }
                Err(failed)
            }
            Ok(None) | Err(_) => {
                request.answered();
                drop(connection);
                Ok(Taken::Busy(self.read(&attempt.key).await?))
            }
        }
    }

    /// Changes the state of a key. One task writes the pending changes of all tasks of this process, in their order.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        key: &Key,
        mut reason: Reason,
        change: impl Fn(&mut KeyState, Tokens<'_>, &mut Step<'_>) -> Result<T, BackendError>
        + Send
        + Sync
        + 'static,
    ) -> Result<T, BackendError> {
        let (local, change) = (self.local.enter(key), Arc::new(change));
        loop {
            let again = match &reason {
                Reason::Attempt(statements, _) => Reason::Attempt(Arc::clone(statements), None),
                Reason::End(statements) => Reason::End(Arc::clone(statements)),
                Reason::Other => Reason::Other,
            };
            let (pending, mut answer) = Pending::new(reason, Arc::clone(&change));
            local.push(Box::new(pending));
            let answered = tokio::select! {
                biased;
                answered = &mut answer => Some(answered),
                _turn = local.turn() => {
                    self.write_changes(key, &local).await;
                    None
                }
            };
            let answered = match answered {
                Some(answered) => Ok(answered),
                // Usually, `write_changes` has written this change. Otherwise another task has taken it before.
                None => timeout(ANSWER_LIMIT, answer).await,
            };
            if let Ok(Ok(answer)) = answered {
                return answer;
            }
            // The task that took this change was dropped, or is stopped. It may have written the change.
            if !matches!(again, Reason::Attempt(..)) {
                let message = format!("the task that wrote a change of `{key}` did not answer");
                return Err(BackendError::unknown(message));
            }
            reason = again;
        }
    }

    /// Changes the state of a key for an owner whose attempts have ended.
    pub(super) async fn end<T: Send + 'static>(
        &self,
        claim: &Claim,
        change: impl Fn(&mut KeyState, &Claim, &mut Step<'_>) -> T + Send + Sync + 'static,
    ) -> Result<T, BackendError> {
        let statements = Arc::clone(&SqlAttempt::of_claim(claim).statements);
        let (claim, reason) = (claim.clone(), Reason::End(statements));
        self.change(&claim.key.clone(), reason, move |key, _, step| {
            Ok(change(key, &claim, step))
        })
        .await
    }

    /// Writes the pending changes, and returns the answers to their callers.
    async fn write_changes(&self, key: &Key, local: &LocalKey) {
        let mut changes: Vec<Box<dyn Change>> = Vec::new();
        let mut tries = Tries::default();
        let failed = loop {
            local.note_write();
            changes.extend(local.take_changes());
            changes.retain(|it| !it.is_abandoned());
            if changes.is_empty() {
                return;
            }
            match self.try_write(key, &mut changes).await {
                Ok(true) => break None,
                Ok(false) => tries.pause().await,
                Err(error) => break Some(error),
            }
        };
        let Some(error) = failed else {
            changes.into_iter().for_each(Change::answer);
            return;
        };
        for change in changes {
            change.fail(error.clone());
        }
    }

    /// Applies the changes to the row, and notifies its waiters. Returns false if another client has changed the row.
    async fn try_write(
        &self,
        key: &Key,
        changes: &mut [Box<dyn Change>],
    ) -> Result<bool, BackendError> {
        let read = match changes {
            [only] => match only.reason() {
                Reason::Attempt(_, read) => read.take(),
                _ => None,
            },
            _ => None,
        };
        let reading = match read {
            Some(read) => read,
            None => self.read(key).await?,
        };
        let absent = Record::absent();
        let before = reading.record.as_ref().unwrap_or(&absent);
        let mut state = before.state().map_err(|it| error::damaged(it, key))?;
        let (now, expiry) = (time(reading.now), expiry_after(reading.now));
        let (mut token, mut closed_until) = (before.token, 0);
        let (mut notified, mut requests) = (Vec::new(), Vec::new());
        for change in changes {
            match change.reason() {
                Reason::Attempt(statements, _) => {
                    let request = statements.sending(expiry);
                    // A cleanup of the owner finds the request, or the change is abandoned before.
                    if change.is_abandoned() {
                        request.answered();
                        continue;
                    }
                    requests.push(request);
                }
                Reason::End(statements) => {
                    closed_until = statements.latest_expiry().max(closed_until);
                }
                Reason::Other => {}
            }
            let (mut changed, mut drawn, mut woken) = (state.clone(), token, Vec::new());
            let mut tokens = || {
                let next = next_token(now, drawn)?;
                drawn = next.get();
                Ok(next)
            };
            let mut notify = |owner, (): &()| woken.push(owner);
            let mut step = Step::new(now, timing(DB::CLOCK_STEP), &mut notify);
            if change.apply(&mut changed, &mut tokens, &mut step) {
                (state, token) = (changed, drawn);
                notified.extend(woken);
            }
        }
        let after = before.with(&state, token, closed_until);
        // The version must change if an earlier statement may still arrive.
        let written = if closed_until == 0 && after == *before {
            Ok(true)
        } else {
            let is_new = reading.record.is_none();
            let is_elsewhere = |it: AttemptId| !self.waiters.contains(&it.to_string());
            let announces =
                DB::NOTIFIES && !notified.is_empty() && state.waiting().any(is_elsewhere);
            self.write(key, &after, is_new.then_some(expiry), &notified, announces)
                .await
        };
        if !matches!(&written, Err(error) if error.applied() == Applied::Unknown) {
            requests.into_iter().for_each(InFlightStatement::answered);
        }
        written
    }

    /// Inserts a new row before its expiry, or updates a row, and notifies the waiters. Announces the grants to the processes
    /// of the other waiters if `announces` is set, because the process of the notified waiters may crash.
    async fn write(
        &self,
        key: &Key,
        after: &Record,
        expiry: Option<i64>,
        notified: &[AttemptId],
        announces: bool,
    ) -> Result<bool, BackendError> {
        let notified = notified.iter().map(AttemptId::to_string);
        let (local, mut remote): (Vec<String>, Vec<String>) =
            notified.partition(|waiter| self.waiters.contains(waiter));
        if announces {
            remote.push(announcement(key));
        }
        let remote = match self.listener.can_notify() {
            true => remote,
            false => Vec::new(),
        };
        let mut connection = self.connection().await?;
        let mut notification = Notification {
            waiters: &self.waiters,
            notified: local,
        };
        let mut written = match expiry {
            None => {
                connection
                    .run(|on| DB::update(on, self.prepare, key.full(), after, &remote))
                    .await
            }
            Some(expiry) => {
                connection
                    .run(|on| DB::insert(on, self.prepare, key.full(), after, expiry))
                    .await
            }
        };
        if let Err(refused) = &written
            && !remote.is_empty()
            && error::is_unavailable(refused)
        {
            let again = connection
                .run(|on| DB::update(on, self.prepare, key.full(), after, &[]))
                .await;
            if again.is_ok() {
                self.listener.refuse(refused);
            }
            written = again;
        }
        let written = match written {
            Err(failed) if DB::obstacle(&failed) == Some(Obstacle::Conflict) => Ok(false),
            written => written.map_err(|it| error::of(it, key)),
        };
        if matches!(&written, Ok(false)) {
            notification.notified.clear();
        }
        written
    }

    pub(super) async fn read(&self, key: &Key) -> Result<Reading, BackendError> {
        let mut tries = Tries::default();
        loop {
            let mut connection = self.connection().await?;
            let sent = Instant::now();
            match connection
                .run(|on| DB::read(on, self.prepare, key.full()))
                .await
            {
                Ok(reading) => {
                    self.clock.observe(sent, reading.now);
                    return Ok(reading);
                }
                Err(failed) if DB::obstacle(&failed) == Some(Obstacle::Conflict) => {
                    drop(connection);
                }
                Err(failed) => return Err(error::of(failed, key)),
            }
            tries.pause().await;
        }
    }

    /// Reads the rows with leases, from the key `from` on.
    async fn rows(
        &self,
        pattern: &Key,
        from: &str,
    ) -> Result<Vec<(String, Reading)>, BackendError> {
        let mut tries = Tries::default();
        loop {
            let mut connection = self.connection().await?;
            match connection.run(|on| DB::list(on, self.prepare, from)).await {
                Err(failed) if DB::obstacle(&failed) == Some(Obstacle::Conflict) => {
                    drop(connection);
                }
                rows => return rows.map_err(|it| error::of(it, pattern)),
            }
            tries.pause().await;
        }
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
        match connection
            .run(|on| DB::renew(on, self.prepare, &exclusive))
            .await
        {
            // The claims are renewed one after another instead.
            Err(failed)
                if DB::obstacle(&failed) == Some(Obstacle::Conflict)
                    || error::is_safe_update(&failed) =>
            {
                Ok(Vec::new())
            }
            renewed => renewed.map_err(|it| error::of(it, &first.key)),
        }
    }

    /// Releases an exclusive lock without waiters in one statement. Returns false if nothing changed.
    pub(super) async fn release_alone(&self, claim: &Claim) -> Result<bool, BackendError> {
        let mut connection = self.connection().await?;
        match connection
            .run(|on| DB::release(on, self.prepare, claim))
            .await
        {
            Err(failed) if DB::obstacle(&failed) == Some(Obstacle::Conflict) => Ok(false),
            released => released.map_err(|it| error::of(it, &claim.key)),
        }
    }

    pub(super) fn inspected(key: &Key, reading: &Reading) -> Result<Inspection, BackendError> {
        let mut notify = |_, (): &()| {};
        let mut step = Step::new(time(reading.now), timing(DB::CLOCK_STEP), &mut notify);
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
        let from = from.unwrap_or(prefix);
        let rows = self.rows(&pattern, from).await?;
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

    async fn connection(&self) -> Result<LentConnection<'_, DB>, BackendError> {
        self.server_check.acquire(&self.pool).await
    }
}

pub(super) fn state_of(key: &Key, reading: &Reading) -> Result<KeyState, BackendError> {
    let state = reading.record.as_ref().map(Record::state).transpose();
    Ok(state
        .map_err(|it| error::damaged(it, key))?
        .unwrap_or_default())
}

/// Notifies waiters of this process when it is dropped, also if the reply to the write is lost: the write may have granted
/// the lock to them.
struct Notification<'a> {
    waiters: &'a Waiters,
    notified: Vec<String>,
}

impl Drop for Notification<'_> {
    fn drop(&mut self) {
        for waiter in &self.notified {
            self.waiters.notify(waiter);
        }
    }
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
