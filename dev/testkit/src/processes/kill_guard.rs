//! Who kills a process if we cannot.

use std::io;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which is ours, and then kills.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r line; kill -9 \"$0\"";

/// A shell that outlives us by a moment and kills a process of ours, in case we
/// die without a chance to do it: by a signal, an abort, or in a `static`.
#[derive(Debug)]
pub(super) struct KillGuard {
    shell: Child,
}

impl KillGuard {
    /// Watches over a process.
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

/// To be dropped before the process is waited for: after that, its number may
/// belong to another.
impl Drop for KillGuard {
    fn drop(&mut self) {
        // It is a child not yet waited for, so the number is still its own.
        drop(self.shell.kill());
        drop(self.shell.wait());
    }
}
