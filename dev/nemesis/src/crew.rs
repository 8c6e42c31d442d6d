//! The processes of a cell, and what is done to them.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::history::{History, HistoryError};
use leasehold_testkit::processes::ChildProcess;
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
pub struct Crew {
    orders: Orders,
    folder: PathBuf,
    /// Worn by all, if they have one.
    clock: Option<ClockShim>,
    started: usize,
    workers: Vec<ChildProcess>,
}

impl Crew {
    /// Starts so many, which note what they do in this folder. Those that meet with a
    /// [`ClientClock`](Fault::ClientClock) wear one.
    ///
    /// # Errors
    ///
    /// If they do not begin.
    pub async fn start(
        orders: Orders,
        size: usize,
        folder: &Path,
        fault: Fault,
    ) -> Result<Self, BoxError> {
        let clock = match fault {
            Fault::ClientClock => Some(ClockShim::off_by(0)?),
            _ => None,
        };
        let mut crew = Self {
            orders,
            folder: folder.to_owned(),
            clock,
            started: 0,
            workers: Vec::new(),
        };
        for _ in 0..size {
            crew.add()?;
        }
        for worker in &mut crew.workers {
            worker.line_where(PATIENCE, |line| line == "ready").await?;
        }
        Ok(crew)
    }

    fn add(&mut self) -> Result<(), BoxError> {
        let mut orders = self.orders.clone();
        orders.file = self.file(self.started);
        self.started += 1;
        let own = std::env::current_exe()?;
        let mut worker = ChildProcess::of(own).arg("worker").args(orders.words());
        if let Some(clock) = &self.clock {
            worker = clock.worn_by(worker);
        }
        self.workers.push(worker.start()?);
        Ok(())
    }

    fn file(&self, number: usize) -> PathBuf {
        let cell = self.orders.cell.0;
        self.folder.join(format!("{cell}-{number}"))
    }

    /// Does something to them, once, and makes it good again.
    ///
    /// # Errors
    ///
    /// If a process has ended, or the fault is none of clients.
    pub async fn strike(
        &mut self,
        fault: Fault,
        chance: &mut fastrand::Rng,
    ) -> Result<(), BoxError> {
        let place = chance.usize(..self.workers.len());
        let victim = &mut self.workers[place];
        match fault {
            Fault::ClientPause => {
                victim.pause()?;
                sleep(OUTAGE).await;
                victim.resume()?;
            }
            Fault::ClientKill => {
                self.workers.swap_remove(place).kill();
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

    /// Tells all to stop, and waits until they have. Who does not is named, and killed.
    ///
    /// # Errors
    ///
    /// If one cannot be told.
    pub async fn stop(&mut self) -> Result<Vec<String>, BoxError> {
        for worker in &mut self.workers {
            worker.tell("stop")?;
        }
        let mut wrong = Vec::new();
        for worker in &mut self.workers {
            match worker.end(PATIENCE).await {
                Ok(status) if status.success() => {}
                Ok(status) => {
                    let words = worker.last_words();
                    wrong.push(format!("a process ended with {status}: {words}"));
                }
                Err(late) => wrong.push(late.to_string()),
            }
            worker.kill();
        }
        Ok(wrong)
    }

    /// The changes noted so far.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn changes(&self) -> io::Result<Vec<Change>> {
        let files = (0..self.started).map(|it| self.file(it).with_extension("changes"));
        record::read(files)
    }

    /// The holds noted so far.
    ///
    /// # Errors
    ///
    /// If they cannot be read.
    pub fn holds(&self) -> Result<History, HistoryError> {
        let files = (0..self.started).map(|it| self.file(it).with_extension("holds"));
        History::read(files.filter(|it| it.exists()))
    }
}
