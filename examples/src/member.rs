use std::ffi::OsStr;
use std::io;
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Another process of this program, that talks by lines. It is killed when this is dropped.
#[derive(Debug)]
#[must_use = "the process is killed when this is dropped"]
pub struct Member {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<Lines<BufReader<ChildStdout>>>,
}

impl Member {
    /// Starts this program once more, with these arguments.
    ///
    /// # Errors
    ///
    /// What the system says.
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

    /// The next line that it says; none if it has ended.
    ///
    /// # Errors
    ///
    /// What the system says.
    ///
    /// # Cancel safety
    ///
    /// A dropped call loses no line.
    pub async fn line(&mut self) -> io::Result<Option<String>> {
        match &mut self.output {
            Some(lines) => lines.next_line().await,
            None => Ok(None),
        }
    }

    /// Says a line to it.
    ///
    /// # Errors
    ///
    /// What the system says if it has ended.
    pub async fn tell(&mut self, line: &str) -> io::Result<()> {
        match &mut self.input {
            Some(input) => input.write_all(format!("{line}\n").as_bytes()).await,
            None => Ok(()),
        }
    }

    /// Sends it a signal: `STOP`, `CONT`, `KILL`. For Unix.
    ///
    /// # Errors
    ///
    /// What the system says, or that it has ended.
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

    /// Ends what it can read.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// Waits for its end, and answers whether it ended well.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub async fn end(mut self) -> io::Result<bool> {
        self.close();
        Ok(self.child.wait().await?.success())
    }
}
