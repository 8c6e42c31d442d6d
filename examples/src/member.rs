use std::ffi::OsStr;
use std::io;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Another process of this program, which communicates by lines. It is killed when this value is dropped.
#[derive(Debug)]
#[must_use = "the process is killed when this is dropped"]
pub struct Member {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
}

impl Member {
    /// Starts this program again, with these arguments.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    pub fn start<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> io::Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let output = child.stdout.take().map(|it| BufReader::new(it).lines());
        Ok(Self {
            input: child.stdin.take(),
            output,
            child,
        })
    }

    /// Returns the next line of the process, or `None` if it has ended.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: a dropped call does not lose a line.
    pub async fn line(&mut self) -> io::Result<Option<String>> {
        match &mut self.output {
            Some(lines) => lines.next_line().await,
            None => Ok(None),
        }
    }

    /// Sends a line to the process.
    ///
    /// # Errors
    ///
    /// Returns the error of the system if the process has ended.
    pub async fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()).await,
            None => Ok(()),
        }
    }

    /// Sends a signal to the process: `STOP`, `CONT` or `KILL`. Unix only.
    ///
    /// # Errors
    ///
    /// Returns the error of the system, or [`io::ErrorKind::NotFound`] if the process has ended.
    pub async fn signal(&self, name: &str) -> io::Result<()> {
        let Some(id) = self.child.id() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let kill = Command::new("kill")
            .args(["-s", name, &id.to_string()])
            .status();
        match kill.await?.success() {
            true => Ok(()),
            false => Err(io::ErrorKind::NotFound.into()),
        }
    }

    /// Closes the input of the process.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Closes the input, waits for the end of the process, and returns whether it succeeded.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    pub async fn end(mut self) -> io::Result<bool> {
        self.close();
        Ok(self.child.wait().await?.success())
    }
}
