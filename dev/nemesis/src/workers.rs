//! The processes of a cell, and their faults.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::history::{History, HistoryError, Hold};
use leasehold_testkit::processes::ProcessGroup;
use tokio::time::sleep;

use crate::BoxError;
use crate::deployment::OUTAGE;
use crate::fault::Fault;
use crate::record::{self, Change};
use crate::worker::Orders;

/// The timeout for the beginning and the end of a process.
const PATIENCE: Duration = Duration::from_secs(400);

/// How far a wall clock jumps, in seconds.
const HOUR: i64 = 3_600;

/// Processes with the same orders.
#[derive(Debug)]
#[must_use = "the processes end when this is dropped"]
pub struct Workers {
    orders: Orders,
    /// The clock of all processes, if they have their own.
    clock: Option<ClockShim>,
    group: ProcessGroup,
}

impl Workers {
    /// Starts `size` processes. With a [`ClientClock`](Fault::ClientClock) fault, they have their own clock.
    ///
    /// # Errors
    ///
    /// Returns an error if the processes do not begin.
    pub async fn start(orders: Orders, size: usize, fault: Fault) -> Result<Self, BoxError> {
        let clock = match fault {
            Fault::ClientClock => Some(ClockShim::off_by(0)?),
            _ => None,
        };
        let group = ProcessGroup::of(std::env::current_exe()?)?;
        let mut workers = Self {
            orders,
            clock,
            group,
        };
        for _ in 0..size {
            workers.add()?;
        }
        workers
            .group
            .lines(PATIENCE, |line| line == "ready")
            .await?;
        Ok(workers)
    }

    fn add(&mut self) -> Result<(), BoxError> {
        let mut orders = self.orders.clone();
        let clock = self.clock.as_ref();
        self.group.start(|worker, notes| {
            orders.file = notes.to_owned();
            let worker = worker.args(["worker", &orders.to_json()]);
            match clock {
                Some(clock) => clock.worn_by(worker),
                None => worker,
            }
        })?;
        Ok(())
    }

    /// Causes one fault of a process and repairs it. It affects a process that holds a lock, because the others have
    /// nothing to lose.
    ///
    /// # Errors
    ///
    /// Returns an error if a process has ended, if its records cannot be read, or if the fault is not one of clients.
    pub async fn strike(
        &mut self,
        fault: Fault,
        chance: &mut fastrand::Rng,
    ) -> Result<(), BoxError> {
        let index = match self.holder(chance)? {
            Some(index) => index,
            None => chance.usize(..self.group.processes.len()),
        };
        let victim = &mut self.group.processes[index];
        match fault {
            Fault::ClientPause => {
                victim.pause()?;
                sleep(OUTAGE).await;
                victim.resume()?;
            }
            Fault::ClientKill => {
                self.group.kill(index);
                self.add()?;
                sleep(Duration::from_millis(chance.u64(300..900))).await;
            }
            Fault::ClientClock => {
                if let Some(clock) = &self.clock {
                    clock.set(chance.i64(-HOUR..HOUR))?;
                }
                sleep(Duration::from_millis(chance.u64(200..600))).await;
            }
            Fault::ForceOpen => {
                victim.tell("force")?;
                sleep(Duration::from_millis(chance.u64(100..300))).await;
            }
            other => return Err(format!("nobody can do `{other}` to a client").into()),
        }
        Ok(())
    }

    /// Returns a process that holds the lock of any key, according to the records.
    fn holder(&self, chance: &mut fastrand::Rng) -> Result<Option<usize>, HistoryError> {
        let history = self.holds()?;
        let latest: HashMap<_, _> = history
            .holds()
            .iter()
            .map(|hold| (&hold.key, hold))
            .collect();
        let held = latest.into_values().filter(|hold| !hold.ended);
        let holders: BTreeSet<u64> = held.map(Hold::process).collect();
        let is_holder = |index: &usize| {
            let pid = self.group.processes[*index].pid();
            holders.contains(&u64::from(pid))
        };
        let indices = (0..self.group.processes.len()).filter(is_holder);
        Ok(chance.choice(indices.collect::<Vec<_>>()))
    }

    /// Sends `stop` to all processes, and waits until they have ended. Returns the names of those that do not end,
    /// which are killed.
    ///
    /// # Errors
    ///
    /// Returns an error if a process cannot be reached.
    pub async fn stop(&mut self) -> Result<Vec<String>, BoxError> {
        self.group.tell("stop")?;
        let ended = self.group.end(PATIENCE).await;
        Ok(ended.err().iter().map(ToString::to_string).collect())
    }

    /// Returns the changes that were recorded so far.
    ///
    /// # Errors
    ///
    /// Returns an error if the records cannot be read.
    pub fn changes(&self) -> Result<Vec<Change>, HistoryError> {
        record::read(self.group.notes("changes"))
    }

    /// Returns the held locks that were recorded so far.
    ///
    /// # Errors
    ///
    /// Returns an error if the records cannot be read.
    pub fn holds(&self) -> Result<History, HistoryError> {
        History::read(self.group.notes("holds"))
    }
}
