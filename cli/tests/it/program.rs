//! Starts the program, and waits for conditions.

use std::fs;
use std::time::{Duration, Instant};

use leasehold_testkit::processes::{ChildBuilder, ChildProcess};
use leasehold_testkit::servers::RedisServer;
use rustix::process::{Pid, Signal, kill_process};

pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Prepares the program, without a URL in the environment. It ignores no signal, even if the tests run in the background
/// of a shell, which makes them ignore SIGINT. It has its own session: if a process group becomes orphaned while one of
/// its processes is stopped, the kernel sends SIGHUP to the whole group.
pub(crate) fn leasehold() -> ChildBuilder {
    let leasehold = ChildProcess::of("setsid").args([
        "env",
        "--default-signal=HUP,INT,QUIT",
        env!("CARGO_BIN_EXE_leasehold"),
    ]);
    leasehold.env("LEASEHOLD_URL", "")
}

/// Prepares `leasehold run` for a key on a server.
pub(crate) fn run(server: &RedisServer, key: &str, options: &[&str]) -> ChildBuilder {
    let url = server.url();
    let run = leasehold().args(["run", "--url", &url, "--key", key]);
    run.args(options).arg("--")
}

/// Waits for the end of a process, and returns its exit code.
pub(crate) async fn code(process: &mut ChildProcess) -> i32 {
    let status = process.end(PATIENCE).await.unwrap();
    status.code().unwrap()
}

/// Waits until `so` returns true.
pub(crate) async fn until(what: &str, so: impl Fn() -> bool) {
    let begin = Instant::now();
    while !so() {
        assert!(
            begin.elapsed() < PATIENCE,
            "not within {PATIENCE:?}: {what}"
        );
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a process has printed `part`: another thread reads its output.
pub(crate) async fn until_said(process: &ChildProcess, part: &str) {
    until(part, || process.last_words().contains(part)).await;
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Returns the supervisor of a holder, which is its only child.
pub(crate) fn supervisor(holder: &ChildProcess) -> u32 {
    let pid = holder.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap()
}

/// Returns whether a process exists and is not a zombie.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')')
        .is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}
