//! Processes that draw: each acquires and releases one key, over and over.

use std::path::{Path, PathBuf};
use std::time::Duration;

use leasehold_testkit::history::{History, HistoryError};
use leasehold_testkit::processes::{ChildBuilder, ChildProcess, ProcessError};
use tempfile::TempDir;

/// What each process does.
#[derive(Debug, Clone, Copy)]
pub struct Work {
    /// How many tasks it has.
    pub tasks: usize,
    /// How many acquisitions they make together.
    pub count: usize,
    /// The TTL of each.
    pub ttl: Duration,
    /// How long each is held.
    pub hold: Duration,
    /// Of a semaphore with so many permits, or of a lock.
    pub permits: Option<u32>,
}

/// Processes on one key of one server, and what they noted.
#[derive(Debug)]
pub struct Fleet {
    program: PathBuf,
    url: String,
    work: Work,
    folder: TempDir,
    files: Vec<PathBuf>,
    /// Those that run, and those that have ended.
    pub processes: Vec<ChildProcess>,
}

impl Fleet {
    /// A fleet without processes. `program` is the binary `client`.
    ///
    /// # Errors
    ///
    /// If there is no room for what they will note.
    pub fn new(program: &str, url: &str, work: Work) -> std::io::Result<Self> {
        Ok(Self {
            program: program.into(),
            url: url.to_owned(),
            work,
            folder: tempfile::tempdir()?,
            files: Vec::new(),
            processes: Vec::new(),
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
        let file = self.folder.path().join(self.files.len().to_string());
        let Work {
            tasks,
            count,
            ttl,
            hold,
            permits,
        } = self.work;
        let numbers = [tasks, count].map(|n| n.to_string());
        let times = [ttl, hold].map(|time| time.as_millis().to_string());
        let client = ChildProcess::of(&self.program)
            .args([&self.url, "draw", "k"])
            .arg(permits.unwrap_or_default().to_string())
            .args(numbers)
            .args(times)
            .arg(&file);
        self.processes.push(change(client).start()?);
        self.files.push(file);
        Ok(())
    }

    /// Waits until all have ended, and ended well.
    ///
    /// # Errors
    ///
    /// [`ProcessError`] if one has not.
    pub async fn end(&mut self, patience: Duration) -> Result<(), ProcessError> {
        for process in &mut self.processes {
            let status = process.end(patience).await?;
            if !status.success() {
                return Err(ProcessError::Ended {
                    program: self.program.display().to_string(),
                    what: "end well".to_owned(),
                    last_words: process.last_words(),
                });
            }
        }
        Ok(())
    }

    /// What they have noted.
    ///
    /// # Errors
    ///
    /// [`HistoryError`] if it cannot be read.
    pub fn history(&self) -> Result<History, HistoryError> {
        History::read(
            self.files
                .iter()
                .map(PathBuf::as_path)
                .filter(|file: &&Path| file.exists()),
        )
    }
}
