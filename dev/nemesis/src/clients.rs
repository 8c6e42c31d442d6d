//! Processes of the program `client`, which lock as they are told.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_testkit::history::{History, HistoryError};
use leasehold_testkit::processes::{ChildBuilder, ChildProcess, ProcessError, ProcessGroup};
use serde::{Deserialize, Serialize};

/// What a client does: its second argument as JSON, the first one is a URL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Task {
    /// Acquires `key`, prints `held TOKEN`, and obeys its input.
    Hold(Duration),
    /// Waits for the key in so many tasks.
    Wait(usize),
    /// Prints `clock SECONDS`; acquires, holds and releases the key.
    Repeat(Repeat),
    /// Acquires the key, prints `ticket TICKET`, and exits without another request.
    HandOver(Duration),
}

/// The key that every client locks.
pub const KEY: &str = "k";

/// Many acquisitions.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Repeat {
    /// How many tasks there are.
    pub tasks: usize,
    /// How many acquisitions they make together.
    pub count: u64,
    /// The TTL of each.
    pub ttl: Duration,
    /// How long each is held.
    pub hold: Duration,
    /// Of a semaphore with so many permits, or of a lock.
    pub permits: Option<u32>,
    /// Where they are noted.
    pub file: PathBuf,
}

/// Prepares a process of `program`, which is the binary `client`.
pub fn client(program: &str, url: &str, task: &Task) -> ChildBuilder {
    arguments(ChildProcess::of(program), url, task)
}

fn arguments(process: ChildBuilder, url: &str, task: &Task) -> ChildBuilder {
    let task = serde_json::to_string(task).unwrap_or_default();
    process.arg(url).arg(task)
}

/// Processes that acquire and release one key of one server, over and over.
#[derive(Debug)]
pub struct Clients {
    url: String,
    work: Repeat,
    /// The processes.
    pub group: ProcessGroup,
}

impl Clients {
    /// No processes yet. `program` is the binary `client`.
    ///
    /// # Errors
    ///
    /// If no folder for their notes can be made.
    pub fn new(program: &str, url: &str, work: Repeat) -> io::Result<Self> {
        Ok(Self {
            url: url.to_owned(),
            work,
            group: ProcessGroup::of(program)?,
        })
    }

    /// Starts another process, changed as `change` says.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Start`] if it cannot be started.
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

    /// What they have noted.
    ///
    /// # Errors
    ///
    /// [`HistoryError`] if it cannot be read.
    pub fn history(&self) -> Result<History, HistoryError> {
        History::read(self.group.notes(""))
    }
}
