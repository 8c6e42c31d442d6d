//! Kills a process if this process cannot do it.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Waits for the end of its input, which this process holds open. Then kills the other process, and removes its folder.
/// The children of that process may write to the folder until they notice its end.
const SCRIPT: &str = "trap '' HUP INT TERM; read -r line; kill -9 \"$0\"; \
    for pause in 0 1 1 1; do sleep $pause; rm -rf \"$@\" && break; done";

/// A shell that outlives this process by a moment, kills a child process, and removes its temporary folder. It is needed
/// if this process dies without running destructors: by a signal, by an abort, or with the child in a `static`.
#[derive(Debug)]
pub(super) struct KillGuard {
    shell: Child,
}

impl KillGuard {
    /// Starts a shell for a process and its folder.
    pub(super) fn of(pid: u32, folder: Option<&Path>) -> io::Result<Self> {
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, &pid.to_string()])
            .args(folder)
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
