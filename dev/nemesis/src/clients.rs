//! Processes of the program `client`, which execute locking tasks.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_testkit::history::{History, HistoryError};
use leasehold_testkit::processes::{ChildBuilder, ChildProcess, ProcessError, ProcessGroup};
use serde::{Deserialize, Serialize};

use crate::deployment::Locks;

/// The task of a client. It is the second argument, as JSON; the first argument is a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Task {
    /// Acquires `key`, prints `held TOKEN`, and follows its input.
    Hold(Duration),
    /// Waits for the key in this number of tasks.
    Wait(usize),
    /// Prints `clock SECONDS`; acquires, holds and releases the key.
    Repeat(Repeat),
    /// Acquires the key, prints `ticket TICKET`, and exits without another request.
    HandOver(Duration),
    /// Calls a job in every second of its own clock.
    Schedule(Schedule),
    /// Acquires, holds and releases the key until it is killed.
    Compete(Compete),
    /// Changes data in the database of the locks until it is killed.
    Change(Change),
    /// Campaigns in an election, prints `leads TOKEN` in each term, and follows its input.
    Campaign(Campaign),
}

/// The key that every client locks.
pub const KEY: &str = "k";

/// A task with a job for each second. The client prints `ran SLOT` when it has executed the job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Schedule {
    /// The number of calls.
    pub calls: u32,
    /// Whether the job is called with `once`. Otherwise the job is skipped if another client holds the lock.
    pub once: bool,
}

/// A candidate of an election.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Campaign {
    /// How it connects to the locks. The URL of the process is not used.
    pub locks: Locks,
    /// Whether the work of a leader continues after its term, as work in a spawned task may.
    pub outlives_term: bool,
    /// The file in which the terms are recorded.
    pub file: PathBuf,
}

/// A task with many acquisitions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Repeat {
    /// The number of concurrent tasks.
    pub tasks: usize,
    /// The total number of acquisitions.
    pub count: u64,
    /// The TTL of each lock.
    pub ttl: Duration,
    /// How long each lock is held.
    pub hold: Duration,
    /// The permits of the semaphore, or `None` for an exclusive lock.
    pub permits: Option<u32>,
    /// The file in which the acquisitions are recorded.
    pub file: PathBuf,
}

/// A task with acquisitions and pauses of random lengths. The client prints `granted MOMENT` after each grant.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Compete {
    /// Whether the lock is that of the backend. Otherwise each client has a lock in its own process.
    pub shared: bool,
    /// The TTL of each lock.
    pub ttl: Duration,
    /// The longest hold time.
    pub hold: Duration,
    /// The longest pause after a release.
    pub pause: Duration,
    /// The file in which the acquisitions are recorded.
    pub file: PathBuf,
}

/// A task with transactions that read a counter and overwrite it later, under the lock. The client prints `read ID
/// MOMENT` after each read, and `committed ID MOMENT` after each commit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Change {
    /// Whether the transactions commit only while the lock is held.
    pub checked: bool,
    /// The TTL of each lock.
    pub ttl: Duration,
    /// The longest time between the read and the write.
    pub think: Duration,
}

/// Prepares a process of `program`, which is the binary `client`.
pub fn client(program: &str, url: &str, task: &Task) -> ChildBuilder {
    arguments(ChildProcess::of(program), url, task)
}

fn arguments(process: ChildBuilder, url: &str, task: &Task) -> ChildBuilder {
    let task = serde_json::to_string(task).unwrap_or_default();
    process.arg(url).arg(task)
}

/// Processes that acquire and release one key of one server repeatedly.
#[derive(Debug)]
pub struct Clients {
    url: String,
    work: Repeat,
    /// The processes.
    pub group: ProcessGroup,
}

impl Clients {
    /// Creates an empty group of processes. `program` is the binary `client`.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder for the records cannot be created.
    pub fn new(program: &str, url: &str, work: Repeat) -> io::Result<Self> {
        Ok(Self {
            url: url.to_owned(),
            work,
            group: ProcessGroup::of(program)?,
        })
    }

    /// Starts another process, after `change` has modified its settings.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Start`] if it cannot be started.
    pub fn start(
        &mut self,
        change: impl FnOnce(ChildBuilder) -> ChildBuilder,
    ) -> Result<(), ProcessError> {
        let Self { url, work, group } = self;
        group.start(|process, file: &Path| {
            let file = file.to_owned();
            let work = Repeat {
                file,
                ..work.clone()
            };
            change(arguments(process, url, &Task::Repeat(work)))
        })
    }

    /// Returns the records of all processes.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError`] if they cannot be read.
    pub fn history(&self) -> Result<History, HistoryError> {
        History::read(self.group.notes(""))
    }
}
