//! The processes that a command has started.
//!
//! On Linux, holder and supervisor adopt the orphans among their descendants. So they find all processes of the command,
//! even those that have left its process group. On other systems they find the processes of the group.

use std::fs;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group,
    test_kill_process_group, wait,
};

/// Makes this process the parent of the orphans among its descendants.
pub(super) fn adopt_orphans() {
    #[cfg(target_os = "linux")]
    // Kernels before 3.4 do not support it. The process group is then the only way to find the processes.
    let _unsupported = rustix::process::set_child_subreaper(Some(getpid()));
}

/// The processes below this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Processes {
    /// The child that this process has started, until it has ended.
    pub(super) child: Option<Pid>,
    /// The process group of the command, if it has its own.
    pub(super) group: Option<Pid>,
}

impl Processes {
    /// Sends a signal to each process.
    pub(super) fn signal(self, signal: Signal) {
        let mut found = descendants();
        let are_found = !found.is_empty();
        if !are_found {
            found.extend(self.child);
        }
        if let Some(group) = self.group
            && (!are_found || signal == Signal::KILL)
        {
            // The signal reaches all processes of the group in one step, even if they start others.
            let _ended = kill_process_group(group, signal);
        }
        for process in found {
            let _ended = kill_process(process, signal);
        }
    }

    /// Waits for children that have ended, without blocking, and calls `seen` for each. Returns whether processes are
    /// left.
    pub(super) fn reap(&mut self, mut seen: impl FnMut(Pid, WaitStatus)) -> bool {
        loop {
            match wait(WaitOptions::NOHANG | WaitOptions::UNTRACED) {
                Ok(Some((pid, status))) => {
                    if self.child == Some(pid) && !status.stopped() {
                        self.child = None;
                    }
                    seen(pid, status);
                }
                Ok(None) => return true,
                Err(Errno::INTR) => {}
                // No child is left. On Linux, orphans become children.
                Err(_) if cfg!(target_os = "linux") => return false,
                Err(_) => {
                    return self
                        .group
                        .is_some_and(|it| test_kill_process_group(it).is_ok());
                }
            }
        }
    }

    /// Kills all processes, and waits until they have ended.
    pub(super) async fn kill(mut self) {
        while self.reap(|_, _| {}) {
            self.signal(Signal::KILL);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
}

/// Returns the descendants of this process, as far as `/proc` shows them.
fn descendants() -> Vec<Pid> {
    let parents = parents();
    let mut found = vec![getpid().as_raw_pid()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|it| it.1 == parent).map(|it| it.0));
        at += 1;
    }
    found
        .into_iter()
        .skip(1)
        .filter_map(Pid::from_raw)
        .collect()
}

/// Returns each process with its parent.
fn parents() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let parent = |id: i32| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name of the program is in parentheses, and may contain any character.
        let (_name, rest) = stat.rsplit_once(')')?;
        Some((id, rest.split_whitespace().nth(1)?.parse().ok()?))
    };
    ids.filter_map(parent).collect()
}
