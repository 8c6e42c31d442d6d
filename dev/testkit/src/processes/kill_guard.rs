//! Kills a process if this process cannot do it.

use std::io;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which this process holds open, and then kills the other process.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r line; kill -9 \"$0\"";

/// A shell that outlives this process by a moment and kills a child process. It is needed if this process dies without
/// running destructors: by a signal, by an abort, or with the child in a `static`.
#[derive(Debug)]
pub(super) struct KillGuard {
    shell: Child,
}

impl KillGuard {
    /// Starts a shell for a process.
    pub(super) fn of(pid: u32) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, &pid.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { shell })
    }
}

/// Must be dropped before the process is waited for, because its id may be reused afterwards.
impl Drop for KillGuard {
    fn drop(&mut self) {
        // The shell is a child that was not waited for, so its id is not reused yet.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}
