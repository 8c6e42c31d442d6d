//! The processes of a cell, and what is done to them.

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

/// How long a process may take to begin, and to end.
const PATIENCE: Duration = Duration::from_secs(40);

/// How far a wall clock jumps.
const HOUR: i64 = 3_600;

/// Processes that do the same.
#[derive(Debug)]
#[must_use = "the processes end when this is dropped"]
pub struct Workers {
    orders: Orders,
    /// Worn by all, if they have one.
    clock: Option<ClockShim>,
    group: ProcessGroup,
}

impl Workers {
    /// Starts so many. Those that meet with a [`ClientClock`](Fault::ClientClock) wear one.
    ///
    /// # Errors
    ///
    /// If they do not begin.
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

    /// Does something to one of them, once, and makes it good again. It happens to a process that holds a lock: the
    /// others have nothing to lose.
    ///
    /// # Errors
    ///
    /// If a process has ended, its notes cannot be read, or the fault is none of clients.
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

    /// A process that holds the lock of some key, as far as they have noted.
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

    /// Tells all to stop, and waits until they have. Who does not is named, and killed.
    ///
    /// # Errors
    ///
    /// If one cannot be told.
    pub async fn stop(&mut self) -> Result<Vec<String>, BoxError> {
        self.group.tell("stop")?;
        let ended = self.group.end(PATIENCE).await;
        Ok(ended.err().iter().map(ToString::to_string).collect())
    }

    /// The changes noted so far.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn changes(&self) -> Result<Vec<Change>, HistoryError> {
        record::read(self.group.notes("changes"))
    }

    /// The holds noted so far.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn holds(&self) -> Result<History, HistoryError> {
        History::read(self.group.notes("holds"))
    }
}
