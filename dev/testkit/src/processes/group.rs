//! Several processes of one program, each with a file for its records.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use super::child::{ChildBuilder, ChildProcess};
use super::error::ProcessError;

/// Processes of one program.
#[derive(Debug)]
#[must_use = "the processes are killed when this is dropped"]
pub struct ProcessGroup {
    program: PathBuf,
    folder: TempDir,
    started: usize,
    /// The running processes, and those that have ended by themselves.
    pub processes: Vec<ChildProcess>,
}

impl ProcessGroup {
    /// Creates a group without processes.
    ///
    /// # Errors
    ///
    /// Returns an error if the folder for the records cannot be created.
    pub fn of(program: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            program: program.into(),
            folder: tempfile::tempdir()?,
            started: 0,
            processes: Vec::new(),
        })
    }

    /// Starts another process. `arrange` adds its arguments, and gets the path for its records.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Start`] if it cannot be started.
    pub fn start(
        &mut self,
        arrange: impl FnOnce(ChildBuilder, &Path) -> ChildBuilder,
    ) -> Result<(), ProcessError> {
        let notes = self.folder.path().join(self.started.to_string());
        self.started += 1;
        let process = arrange(ChildProcess::of(&self.program), &notes).start()?;
        self.processes.push(process);
        Ok(())
    }

    /// Kills the process at `index`, and removes it from [`processes`](Self::processes).
    pub fn kill(&mut self, index: usize) {
        self.processes.swap_remove(index).kill();
    }

    /// Kills all processes.
    pub fn kill_all(&mut self) {
        self.processes.drain(..).for_each(|mut it| it.kill());
    }

    /// Writes a line to the input of each process.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if a process no longer reads its input.
    pub fn tell(&mut self, line: &str) -> Result<(), ProcessError> {
        self.processes.iter_mut().try_for_each(|it| it.tell(line))
    }

    /// Waits for a line of each process: see [`ChildProcess::line_where`].
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError`] if a process does not print one in time.
    pub async fn lines(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, ProcessError> {
        let mut lines = Vec::new();
        for process in &mut self.processes {
            lines.push(process.line_where(patience, &wanted).await?);
        }
        Ok(lines)
    }

    /// Waits until all processes have ended successfully, and kills the others.
    ///
    /// # Errors
    ///
    /// Returns the [`ProcessError`] of the first process that failed.
    pub async fn end(&mut self, patience: Duration) -> Result<(), ProcessError> {
        let mut ended = Ok(());
        for process in &mut self.processes {
            ended = ended.and(process.success(patience).await);
            process.kill();
        }
        ended
    }

    /// Returns the record files of the processes, with this extension if it is not empty.
    #[must_use]
    pub fn notes(&self, extension: &str) -> Vec<PathBuf> {
        let files = (0..self.started).map(|it| self.folder.path().join(it.to_string()));
        let files = files.map(|file| file.with_extension(extension));
        files.filter(|file| file.exists()).collect()
    }
}
