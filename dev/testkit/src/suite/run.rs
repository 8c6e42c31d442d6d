//! Runs a command, and reads its output.

use std::io::{self, BufRead, BufReader, IsTerminal, PipeReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::error::Error;

/// How long to wait for output after the end of a command. A process that it has started may hold the pipe open
/// forever.
const QUIET: Duration = Duration::from_millis(300);

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The failure, if there is one: `exit status: 101`.
    pub failure: Option<String>,
    /// The lines of its output and error output, in order.
    pub lines: Vec<String>,
}

impl Job {
    /// Creates a command with the environment of this process.
    pub fn new<S: Into<String>>(program: &str, args: impl IntoIterator<Item = S>) -> Self {
        Self {
            program: program.to_owned(),
            args: args.into_iter().map(Into::into).collect(),
            env: Vec::new(),
        }
    }

    /// Returns the command as a user would type it.
    #[must_use]
    pub fn shown(&self) -> String {
        let env = self.env.iter().map(|(name, to)| format!("{name}={to:?}"));
        let program = Path::new(&self.program).file_stem().unwrap_or_default();
        let args = self.args.iter().map(|arg| match arg.contains(' ') {
            true => format!("'{arg}'"),
            false => arg.clone(),
        });
        let words: Vec<String> = env
            .chain([program.to_string_lossy().into_owned()])
            .chain(args)
            .collect();
        words.join(" ")
    }

    /// Runs the command in a folder, without input. Calls `on_line` immediately with each printed line.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Run`] if it cannot be started or waited for.
    pub fn run(&self, dir: &Path, mut on_line: impl FnMut(&str)) -> Result<Ran, Error> {
        let mut take = |line: String, lines: &mut Vec<String>| {
            on_line(&line);
            lines.push(line);
        };
        let mut lines = Vec::new();
        let outcome = self.start(dir).and_then(|(mut child, output)| {
            let ended = follow(&output, |line| take(line, &mut lines), || child.try_wait());
            let status = match ended {
                Ok(Some(status)) => Ok(status),
                Ok(None) => child.wait(),
                Err(error) => Err(error),
            };
            status.inspect_err(|_| drop(child.kill()))
        });
        let status = outcome.map_err(|source| Error::Run {
            command: self.shown(),
            source,
        })?;
        Ok(Ran {
            failure: (!status.success()).then(|| status.to_string()),
            lines,
        })
    }

    fn start(&self, dir: &Path) -> io::Result<(Child, Receiver<String>)> {
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .current_dir(dir)
            .stdin(Stdio::null())
            .stdout(writer.try_clone()?)
            .stderr(writer);
        if io::stdout().is_terminal() {
            command.env("CARGO_TERM_COLOR", "always");
        }
        let child = command.spawn()?;
        Ok((child, lines_of(reader)))
    }
}

/// Reads lines in a separate thread, which ends with the output.
fn lines_of(reader: PipeReader) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(reader).split(b'\n') {
            let Ok(bytes) = line else { break };
            let text = String::from_utf8_lossy(&bytes);
            if sender.send(text.trim_end_matches('\r').to_owned()).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Reads lines until the command has ended and prints no more. Returns its exit status, or `None` if it has closed its
/// output before.
fn follow<S>(
    output: &Receiver<String>,
    mut take: impl FnMut(String),
    mut ended: impl FnMut() -> io::Result<Option<S>>,
) -> io::Result<Option<S>> {
    let mut status = None;
    loop {
        match output.recv_timeout(QUIET) {
            Ok(line) => take(line),
            Err(RecvTimeoutError::Disconnected) => return Ok(status),
            Err(RecvTimeoutError::Timeout) if status.is_some() => return Ok(status),
            // The command may have printed lines between the timeout and its end, so read once more.
            Err(RecvTimeoutError::Timeout) => status = ended()?,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_printed_just_before_the_exit_is_read() {
        let (say, output) = mpsc::channel();
        let mut heard = Vec::new();
        let ended = || {
            say.send("test result: ok".to_owned()).unwrap();
            Ok(Some(0))
        };
        let status = follow(&output, |line| heard.push(line), ended).unwrap();
        assert_eq!(
            (status, &*heard),
            (Some(0), &["test result: ok".to_owned()][..])
        );
    }
}
