//! A task that repeatedly acquires the lock, in turn with other tasks and processes.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{FencingToken, LockGuard, LockManager};
use leasehold_testkit::history::{HistoryError, Moment, Noted, Recorder};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::data::{DataCell, Failure, Side, Store, is_pool};
use crate::deployment::TTL;
use crate::judge::{Ledger, Trail};
use crate::record::{Notes, Outcome, Work};

/// The timeout of a step, after which its result is unknown. It is much longer than any step. If a step is dropped
/// while sqlx 0.9 begins a transaction, a connection of the pool may keep the transaction open. Later writes on that
/// connection are then lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// The pause after a failed acquire.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Turns {
    pub(super) locks: LockManager,
    pub(super) key: String,
    pub(super) store: Arc<dyn Store>,
    pub(super) kind: String,
    pub(super) cell: DataCell,
    pub(super) recorder: Recorder,
    pub(super) notes: Notes,
    /// Whether the task polls for the lock instead of queueing, and most turns are long.
    pub(super) polls: bool,
    /// The unique name of the task.
    pub(super) name: String,
}

/// The held lock of a turn.
struct Hold<'g> {
    guard: &'g LockGuard,
    noted: &'g Noted,
    token: FencingToken,
    id: String,
    think: Duration,
    /// Whether the fenced writes are dropped if the lock is lost.
    is_dropped: bool,
}

impl Hold<'_> {
    /// Returns the id of the change of this kind.
    fn change(&self, work: Work) -> String {
        format!("{}.{work:?}", self.id)
    }

    /// Returns the entry of the trail for this kind.
    fn entry(&self, work: Work) -> String {
        Trail::entry(self.token.get(), &self.change(work))
    }
}

impl Turns {
    pub(super) async fn run(self, stop: CancellationToken) -> Result<(), HistoryError> {
        for number in 0_u64.. {
            let asked = Moment::now();
            let acquired = tokio::select! {
                () = stop.cancelled() => break,
                acquired = self.acquire() => acquired,
            };
            match acquired {
                Ok(Some(guard)) => self.turn(guard, asked, number).await?,
                Ok(None) | Err(_) => sleep(PAUSE).await,
            }
            if stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    async fn acquire(&self) -> Result<Option<LockGuard>, leasehold::Error> {
        let lock = self.locks.lock(&self.key).ttl(TTL);
        match self.polls {
            true => lock.try_acquire().await,
            false => lock.acquire().await.map(Some),
        }
    }

    async fn turn(&self, guard: LockGuard, asked: Moment, number: u64) -> Result<(), HistoryError> {
        let token = guard.token();
        let noted = self.recorder.granted(&self.key, token.get(), asked);
        let hold = Hold {
            guard: &guard,
            noted: &noted,
            token,
            id: format!("{}.{number}", self.name),
            think: self.thinking_time() / 3,
            is_dropped: self.can_drop() && number.is_multiple_of(2),
        };
        self.work(&hold).await?;
        let before = Moment::now();
        if guard.is_valid() {
            noted.ended_at(before);
        }
        // The loss of a lock is not relevant here, and the lease expires if the release fails.
        drop(timeout(PATIENCE, guard.release()).await);
        Ok(())
    }

    /// The control reads first and writes last, so that most faults of a holder affect the control. The task does not
    /// check whether the lock is still valid, because a check before a write would still be a race.
    async fn work(&self, hold: &Hold<'_>) -> Result<(), HistoryError> {
        let read = self.store.ledger(self.cell, Side::Control);
        let read = timeout(PATIENCE, read).await;
        self.think(hold).await;
        self.write_as_holder(hold).await?;
        self.think(hold).await;
        if let Ok(Ok(read)) = read {
            let ledger = read.with(&hold.change(Work::ControlLedger));
            let write = self.store.overwrite(self.cell, &ledger);
            self.note(hold, Work::ControlLedger, write).await?;
        }
        let entry = hold.entry(Work::ControlTrail);
        let append = self.store.append_freely(self.cell, &entry);
        self.note(hold, Work::ControlTrail, append).await
    }

    /// Writes with a fence, in a scope of the lock or in `run`. In a scope, the task writes even if the lock is lost.
    /// If `run` drops the writes, their results are unknown.
    async fn write_as_holder(&self, hold: &Hold<'_>) -> Result<(), HistoryError> {
        let writes = self.write(hold);
        if !hold.is_dropped {
            return hold.guard.handle().scope(writes).await;
        }
        let run = hold
            .guard
            .run(async |_| Ok::<_, leasehold::Error>(writes.await));
        run.await.unwrap_or(Ok(()))
    }

    /// Returns the time between read and write. It is usually short, and sometimes long enough for a fault.
    fn thinking_time(&self) -> Duration {
        let range = match fastrand::u8(..5) {
            0..3 if self.polls => 600..2_000,
            0 => 10..600,
            _ => 10..50,
        };
        Duration::from_millis(fastrand::u64(range))
    }

    /// On `MariaDB`, sqlx 0.9 may lose the connection of a dropped statement.
    fn can_drop(&self) -> bool {
        is_pool(&self.kind) && self.kind != "mariadb-pool"
    }

    async fn write(&self, hold: &Hold<'_>) -> Result<(), HistoryError> {
        self.change(hold).await?;
        let entry = hold.entry(Work::Trail);
        let append = self.store.append(self.cell, hold.token, &entry);
        self.note(hold, Work::Trail, append).await
    }

    async fn think(&self, hold: &Hold<'_>) {
        sleep(hold.think).await;
        let before = Moment::now();
        if hold.guard.is_valid() {
            hold.noted.valid_at(before);
        }
    }

    async fn change(&self, hold: &Hold<'_>) -> Result<(), HistoryError> {
        let id = hold.change(Work::Ledger);
        self.notes
            .begin(&id, &self.kind, Work::Ledger, hold.token.get())?;
        let change = self.store.change(self.cell, hold.token, &id, hold.think);
        match timeout(PATIENCE, change).await {
            Ok(Ok(Ledger { mut entries, .. })) => {
                let read = (entries.len(), entries.pop().unwrap_or_default());
                self.notes.end(&id, Outcome::Applied, Some(read))
            }
            Ok(Err(failure)) => self.notes.end(&id, outcome(failure), None),
            Err(_) => self.notes.end(&id, Outcome::Unknown, None),
        }
    }

    async fn note(
        &self,
        hold: &Hold<'_>,
        work: Work,
        write: impl Future<Output = Result<(), Failure>>,
    ) -> Result<(), HistoryError> {
        let id = hold.change(work);
        self.notes.begin(&id, &self.kind, work, hold.token.get())?;
        let outcome = match timeout(PATIENCE, write).await {
            Ok(Ok(())) => Outcome::Applied,
            Ok(Err(failure)) => outcome(failure),
            Err(_) => Outcome::Unknown,
        };
        self.notes.end(&id, outcome, None)
    }
}

const fn outcome(failure: Failure) -> Outcome {
    match failure {
        Failure::Refused => Outcome::Refused,
        Failure::Unknown => Outcome::Unknown,
    }
}
