//! Several processes of one program, each with a file to write notes to.

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
    /// Those that run, and those that have ended by themselves.
    pub processes: Vec<ChildProcess>,
}

impl ProcessGroup {
    /// A group without processes.
    ///
    /// # Errors
    ///
    /// If no folder for their notes can be made.
    pub fn of(program: impl Into<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            program: program.into(),
            folder: tempfile::tempdir()?,
            started: 0,
            processes: Vec::new(),
        })
    }

    /// Starts another process. `arrange` adds its arguments; the path is for its notes.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Start`] if it cannot be started.
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

    /// Kills one of [`processes`](Self::processes) and removes it from them.
    pub fn kill(&mut self, index: usize) {
        self.processes.swap_remove(index).kill();
    }

    /// Kills all.
    pub fn kill_all(&mut self) {
        self.processes.drain(..).for_each(|mut it| it.kill());
    }

    /// Writes a line to the input of each.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Act`] if one does not read any more.
    pub fn tell(&mut self, line: &str) -> Result<(), ProcessError> {
        self.processes.iter_mut().try_for_each(|it| it.tell(line))
    }

    /// Waits for a line from each: see [`ChildProcess::line_where`].
    ///
    /// # Errors
    ///
    /// [`ProcessError`] if one prints none in time.
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

    /// Waits until all have ended successfully, and kills those that have not.
    ///
    /// # Errors
    ///
    /// [`ProcessError`] of the first that has not.
    pub async fn end(&mut self, patience: Duration) -> Result<(), ProcessError> {
        let mut ended = Ok(());
        for process in &mut self.processes {
            ended = ended.and(process.success(patience).await);
            process.kill();
        }
        ended
    }

    /// The notes that the processes have written so far: their files, each with this extension if it is not empty.
    #[must_use]
    pub fn notes(&self, extension: &str) -> Vec<PathBuf> {
        let files = (0..self.started).map(|it| self.folder.path().join(it.to_string()));
        let files = files.map(|file| file.with_extension(extension));
        files.filter(|file| file.exists()).collect()
    }
}
