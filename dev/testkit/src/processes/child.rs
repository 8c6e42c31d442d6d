//! A child process of this project that communicates by lines.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::error::ProcessError;
use super::lines::Lines;
use super::process::Process;

/// The interval at which the end of a process is polled.
const LOOK: Duration = Duration::from_millis(2);

/// A builder for a child process.
#[derive(Debug)]
#[must_use = "a builder does nothing itself: call `start`"]
pub struct ChildBuilder {
    command: Command,
}

impl ChildBuilder {
    /// Adds an argument.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments.
    pub fn args<S: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Sets an environment variable. The other variables are inherited.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts the process.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Start`] if it cannot be started.
    pub fn start(mut self) -> Result<ChildProcess, ProcessError> {
        self.command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = Process::start(self.command)?;
        let (input, output, errors) = process.pipes();
        Ok(ChildProcess {
            input,
            lines: Lines::of(output, errors),
            process,
        })
    }
}

/// A process that communicates by lines. It is killed when this value is dropped.
#[derive(Debug)]
#[must_use = "the process is killed when this is dropped"]
pub struct ChildProcess {
    process: Process,
    input: Option<ChildStdin>,
    lines: Lines,
}

impl ChildProcess {
    /// Prepares the start of a program, such as `env!("CARGO_BIN_EXE_buyer")`.
    pub fn of(program: impl AsRef<OsStr>) -> ChildBuilder {
        ChildBuilder {
            command: Command::new(program),
        }
    }

    /// Returns the process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Stops the process: see [`Process::pause`].
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if it has ended.
    pub fn pause(&mut self) -> Result<(), ProcessError> {
        self.process.pause()
    }

    /// Continues the process.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if it has ended.
    pub fn resume(&mut self) -> Result<(), ProcessError> {
        self.process.resume()
    }

    /// Kills the process, and waits until it has ended. A second call has no effect.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Writes a line to its input.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Act`] if the process no longer reads its input.
    pub fn tell(&mut self, line: &str) -> Result<(), ProcessError> {
        let Some(input) = &mut self.input else {
            return Ok(());
        };
        let told = writeln!(input, "{line}").and_then(|()| input.flush());
        told.map_err(|source| ProcessError::Act {
            what: "write to",
            program: self.process.program().to_owned(),
            source,
        })
    }

    /// Closes its input.
    pub fn tell_no_more(&mut self) {
        self.input = None;
    }

    /// Returns the next printed line, or `None` if the process has closed its output.
    ///
    /// # Cancel safety
    ///
    /// A dropped call does not lose a line.
    pub async fn next_line(&mut self) -> Option<String> {
        self.lines.next().await
    }

    /// Reads lines until `wanted` returns `true`, and returns that line.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Late`] after `patience`, and [`ProcessError::Ended`] if the output ends without such a
    /// line.
    pub async fn line_where(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<String, ProcessError> {
        let what = "print the line wanted";
        let found = timeout(patience, async {
            while let Some(line) = self.lines.next().await {
                if wanted(&line) {
                    return Some(line);
                }
            }
            None
        });
        match found.await {
            Ok(Some(line)) => Ok(line),
            Ok(None) => Err(self.gone(what)),
            Err(_) => Err(self.late(what, patience)),
        }
    }

    /// Waits for the end of the process.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Late`] after `patience`.
    pub async fn end(&mut self, patience: Duration) -> Result<ExitStatus, ProcessError> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.process.ended()? {
                return Ok(status);
            }
            if begin.elapsed() >= patience {
                return Err(self.late("end", patience));
            }
            sleep(LOOK).await;
        }
    }

    /// Waits until the process has ended successfully.
    ///
    /// # Errors
    ///
    /// Returns [`ProcessError::Late`] after `patience`, and [`ProcessError::Ended`] if the process failed.
    pub async fn success(&mut self, patience: Duration) -> Result<(), ProcessError> {
        match self.end(patience).await? {
            status if status.success() => Ok(()),
            status => Err(self.gone(&format!("success, with {status}"))),
        }
    }

    /// Returns the end of its output and error output.
    #[must_use]
    pub fn last_words(&self) -> String {
        self.lines.last_words()
    }

    fn gone(&self, what: &str) -> ProcessError {
        ProcessError::Ended {
            program: self.process.program().to_owned(),
            what: what.to_owned(),
            last_words: self.lines.last_words(),
        }
    }

    fn late(&self, what: &str, waited: Duration) -> ProcessError {
        ProcessError::Late {
            program: self.process.program().to_owned(),
            what: what.to_owned(),
            waited,
            last_words: self.lines.last_words(),
        }
    }
}
