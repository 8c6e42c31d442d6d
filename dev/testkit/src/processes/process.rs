//! A program we have started.

use std::io;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::error::ProcessError;
use super::kill_guard::KillGuard;

/// A child process which is killed when this is dropped, or when we die.
#[derive(Debug)]
#[must_use = "the process is killed when this is dropped"]
pub struct Process {
    program: String,
    /// Until the process has ended and has been waited for.
    kill_guard: Option<KillGuard>,
    child: Child,
}

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Start`] if it cannot be started.
    pub fn start(mut command: Command) -> Result<Self, ProcessError> {
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
        process.kill_guard = Some(KillGuard::of(process.pid()).map_err(cannot)?);
        Ok(process)
    }

    /// The program as it was called.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.program
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Stops it where it stands, with `SIGSTOP`. When this returns, it does
    /// nothing more, although its sockets still accept what fits their buffers.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Act`] if it has ended.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.signal("stop", Signal::STOP)?;
        // The signal is only under way. NOWAIT leaves the end, if that is what
        // we learn of, to be waited for.
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

    /// Lets it go on, with `SIGCONT`.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Act`] if it has ended.
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.signal("resume", Signal::CONT)
    }

    /// Kills it, with `SIGKILL`, and waits until it is gone. Again is no error.
    pub fn kill(&mut self) {
        self.kill_guard = None;
        // Std does not signal what it has waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// How it has ended, or `None` while it runs or is paused.
    ///
    /// # Errors
    ///
    /// [`ProcessError::Act`] if the system does not say.
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

    /// Its input, output and errors, as far as they are pipes and not taken.
    pub(super) fn pipes(
        &mut self,
    ) -> (Option<ChildStdin>, Option<ChildStdout>, Option<ChildStderr>) {
        let child = &mut self.child;
        (child.stdin.take(), child.stdout.take(), child.stderr.take())
    }

    /// Looks without waiting, so that the number remains its own.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        pid.is_none_or(|pid| !matches!(waitid(WaitId::Pid(pid), look), Ok(None)))
    }

    /// Its number, if that is still its own.
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
