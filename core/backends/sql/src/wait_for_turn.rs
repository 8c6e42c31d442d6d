//! The waits. A waiter is notified, or polls the row for all waiters of its key in this process.

use std::collections::HashSet;
use std::time::Duration;

use leasehold_core::backend::key_state::Step;
use leasehold_core::backend::{Attempt, BackendError};
use leasehold_core::{AttemptId, Key};
use tokio::time::{sleep_until, timeout};

use super::SqlBackend;
use super::attempt_in_process::SqlAttempt;
use super::clock_micros::time;
use super::database::LockDatabase;
use super::local_keys::LocalKey;
use super::poll_schedule::timing;
use super::row_operations::state_of;
use super::shared_row_changes::Reason;

/// The longest time for which a poll waits for replies. Without this limit, a connection without replies would end the
/// polls of all waiters of the key.
const POLL_LIMIT: Duration = Duration::from_secs(2);

impl<DB: LockDatabase> SqlBackend<DB> {
    /// Waits until the attempt may have a grant, or has lost its position.
    pub(super) async fn wait_for_change(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let Some(wake_up) = SqlAttempt::of(attempt).wake_up() else {
            return Ok(());
        };
        self.listener.start(&self.pool, &self.waiters, &self.local);
        let local = self.local.enter(&attempt.key);
        let _waiting = local.wait(attempt.owner, wake_up.clone());
        tokio::select! {
            biased;
            () = wake_up.notified() => Ok(()),
            failed = self.poll_until_failure(&attempt.key, &local) => Err(failed),
        }
    }

    /// Polls whenever no other waiter has polled in time.
    async fn poll_until_failure(&self, key: &Key, local: &LocalKey) -> BackendError {
        let mut notified = self.listener.notified();
        loop {
            let since = *notified.borrow_and_update();
            let next = local.polls().next(since);
            tokio::select! {
                () = sleep_until(next.into()) => {}
                // The listener has connected, or lost its connection.
                _changed = notified.changed() => continue,
                () = local.rescheduled() => continue,
            }
            if !local.polls().begin(since) {
                continue;
            }
            let polled = timeout(POLL_LIMIT, self.poll(key, local)).await;
            let no_reply = || BackendError::unknown("the database did not reply to a poll");
            if let Err(failed) = polled.unwrap_or_else(|_elapsed| Err(no_reply())) {
                // The other waiters repeat their attempts, too.
                local.notify_if(|_| true);
                return failed;
            }
        }
    }

    /// Notifies the waiters of this process that do not have to wait any longer, and keeps the positions of the others.
    async fn poll(&self, key: &Key, local: &LocalKey) -> Result<(), BackendError> {
        let here = local.waiting();
        let reading = self.read(key).await?;
        let mut state = state_of(key, &reading)?;
        let (now, mut notify) = (time(reading.now), |_, (): &()| {});
        let is_due = state.keep_positions(
            &here,
            &mut Step::new(now, timing(DB::CLOCK_STEP), &mut notify),
        );
        let token = reading.record.map_or(0, |it| it.token);
        let expires_in = state.next_expiry().map(|it| it.saturating_sub(now));
        local.polls().end(token, expires_in);
        let waiting: HashSet<AttemptId> = state.waiting().collect();
        let has_left = |it: &AttemptId| !waiting.contains(it) && !state.holds(*it);
        local.notify_if(|it| here.contains(it) && has_left(it));
        if is_due {
            let owners = here.clone();
            self.change(key, Reason::Other, move |state, _, step| {
                state.keep_positions(&owners, step);
                Ok(())
            })
            .await?;
        }
        local.notify_if(|it| here.contains(it) && !waiting.contains(it));
        Ok(())
    }
}
