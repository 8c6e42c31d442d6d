//! A started program.

use std::io;
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::error::ProcessError;
use super::kill_guard::KillGuard;

/// A child process that is killed when this value is dropped, or when this process dies.
#[derive(Debug)]
#[must_use = "the process is killed when this is dropped"]
pub struct Process {
    program: String,
    /// `None` after the process has ended and was waited for.
    kill_guard: Option<KillGuard>,
    child: Child,
}

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Start`] if it cannot be started.
    pub fn start(command: Command) -> Result<Self, ProcessError> {
        Self::guarded(command, None)
    }

    /// Starts a command in a temporary folder, which is removed if this process dies.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Start`] if it cannot be started.
    pub fn start_in(folder: &Path, mut command: Command) -> Result<Self, ProcessError> {
        command.current_dir(folder);
        Self::guarded(command, Some(folder))
    }

    fn guarded(mut command: Command, folder: Option<&Path>) -> Result<Self, ProcessError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let cannot = |source| ProcessError::Start {
            program: program.clone(),
            source,
        };
        let child = command.spawn().map_err(cannot)?;
        let mut process = Self {
            program: program.clone(),
            kill_guard: None,
            child,
        };
        process.kill_guard = Some(KillGuard::of(process.pid(), folder).map_err(cannot)?);
        Ok(process)
    }

    /// Returns the name of the program.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Returns the process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops the process with `SIGSTOP`. When this method returns, the process does nothing more, but its sockets still
    /// accept data up to the size of their buffers.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if it has ended.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.signal("stop", Signal::STOP)?;
        // The signal may not have arrived yet. If the process has ended instead, `NOWAIT` leaves its exit status for a
        // later wait.
        let news = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let status = match self.alive() {
            Some(pid) => waitid(WaitId::Pid(pid), news).map_err(Into::into),
            None => Ok(None),
        };
        match status {
            Ok(Some(status)) if status.stopped() => Ok(()),
            Ok(_) => Err(self.cannot("stop", io::ErrorKind::NotFound.into())),
            Err(error) => Err(self.cannot("stop", error)),
        }
    }

    /// Continues the process with `SIGCONT`.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if it has ended.
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.signal("resume", Signal::CONT)
    }

    /// Kills the process with `SIGKILL`, and waits until it has ended. A second call has no effect.
    pub fn kill(&mut self) {
        self.kill_guard = None;
        // The standard library does not signal a process that it has waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Returns how the process has ended, or `None` while it runs or is stopped.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if the system returns an error.
    pub fn ended(&mut self) -> Result<Option<ExitStatus>, ProcessError> {
        if self.kill_guard.is_some() && self.has_ended() {
            self.kill_guard = None;
        }
        if self.kill_guard.is_some() {
            return Ok(None);
        }
        self.child
            .try_wait()
            .map_err(|error| self.cannot("wait for", error))
    }

    /// Returns its input, output and error output, if they are pipes and were not taken.
    pub(super) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Polls without waiting for the process, so that its id is not reused.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    /// Returns the process id if it cannot have been reused.
    fn alive(&self) -> Option<Pid> {
        self.kill_guard.as_ref()?;
        i32::try_from(self.pid()).ok().and_then(Pid::from_raw)
    }

    fn signal(&mut self, what: &'static str, signal: Signal) -> Result<(), ProcessError> {
        let sent = match self.ended()? {
            None => self.alive(),
            Some(_) => None,
        };
        let pid = sent.ok_or_else(|| self.cannot(what, io::ErrorKind::NotFound.into()))?;
        kill_process(pid, signal).map_err(|error| self.cannot(what, error.into()))
    }

    fn cannot(&self, what: &'static str, source: io::Error) -> ProcessError {
        ProcessError::Act {
            what,
            program: self.program.clone(),
            source,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
