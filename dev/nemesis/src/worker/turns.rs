//! One task, which takes turns with those of its own process and of others.

use std::sync::Arc;
use std::time::Duration;

use leasehold::{FencingToken, LockGuard, LockManager};
use leasehold_testkit::history::{HistoryError, Moment, Noted, Recorder};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::data::{DataCell, Failure, Side, Store};
use crate::deployment::TTL;
use crate::judge::Ledger;
use crate::record::{Notes, Outcome, Work};

/// How long a step may take before it counts as unknown: far longer than any does. One that is dropped while sqlx 0.9
/// begins a transaction may leave it open on a connection of the pool, and what is written there next is lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long to pause after an acquire that failed.
const PAUSE: Duration = Duration::from_millis(20);

pub(super) struct Turns {
    pub(super) locks: LockManager,
    pub(super) key: String,
    pub(super) store: Arc<dyn Store>,
    pub(super) kind: String,
    pub(super) cell: DataCell,
    pub(super) recorder: Recorder,
    pub(super) notes: Notes,
    /// No other task has it.
    pub(super) name: String,
}

/// The hold that a turn is under.
struct Hold<'g> {
    guard: &'g LockGuard,
    noted: &'g Noted,
    token: FencingToken,
    id: String,
    think: Duration,
}

impl Hold<'_> {
    /// What its change of this kind is called.
    fn change(&self, work: Work) -> String {
        format!("{}.{work:?}", self.id)
    }
}

impl Turns {
    pub(super) async fn run(self, stop: CancellationToken) -> Result<(), HistoryError> {
        for number in 0_u64.. {
            let asked = Moment::now();
            let acquired = tokio::select! {
                () = stop.cancelled() => break,
                acquired = self.locks.lock(&self.key).ttl(TTL).acquire() => acquired,
            };
            match acquired {
                Ok(guard) => self.turn(guard, asked, number).await?,
                Err(_) => sleep(PAUSE).await,
            }
            if stop.is_cancelled() {
                break;
            }
        }
        Ok(())
    }

    async fn turn(&self, guard: LockGuard, asked: Moment, number: u64) -> Result<(), HistoryError> {
        let token = guard.token();
        let noted = self.recorder.granted(&self.key, token.get(), asked);
        let hold = Hold {
            guard: &guard,
            noted: &noted,
            token,
            id: format!("{}.{number}", self.name),
            think: think() / 3,
        };
        self.work(&hold).await?;
        let before = Moment::now();
        if guard.is_valid() {
            noted.ended_at(before);
        }
        // One that was lost is no news here, and a release that failed runs out.
        drop(timeout(PATIENCE, guard.release()).await);
        Ok(())
    }

    /// The control reads first and writes last, so that most of what happens to a holder happens to it. Nobody looks
    /// whether the lock is still valid: to look and then to write would be a race all the same.
    async fn work(&self, hold: &Hold<'_>) -> Result<(), HistoryError> {
        let read = self.store.ledger(self.cell, Side::Control);
        let read = timeout(PATIENCE, read).await;
        self.think(hold).await;
        self.change(hold).await?;
        let id = hold.change(Work::Trail);
        let append = self.store.append(self.cell, hold.token, &id);
        self.note(hold, Work::Trail, append).await?;
        self.think(hold).await;
        if let Ok(Ok(read)) = read {
            let ledger = read.with(&hold.change(Work::ControlLedger));
            let write = self.store.overwrite(self.cell, &ledger);
            self.note(hold, Work::ControlLedger, write).await?;
        }
        let id = hold.change(Work::ControlTrail);
        let append = self.store.append_freely(self.cell, hold.token, &id);
        self.note(hold, Work::ControlTrail, append).await
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

/// Most are quick, and some are slow enough for something to happen to them.
fn think() -> Duration {
    let most = if fastrand::u8(..5) == 0 { 600 } else { 50 };
    Duration::from_millis(fastrand::u64(10..most))
}
