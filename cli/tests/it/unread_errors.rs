//! A full pipe for the standard error, without a reader, does not delay the release or the renewals.

use std::fs::File;
use std::io::{PipeReader, Write, pipe};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_testkit::processes::Process;
use leasehold_testkit::servers::RedisServer;
use rustix::fs::{OFlags, fcntl_setfl};

use crate::program::PATIENCE;

/// Returns a pipe that is full, as a standard error. The reader keeps it open.
pub(crate) fn full_pipe() -> (PipeReader, Stdio) {
    let (reader, writer) = pipe().unwrap();
    let mut writer = File::from(OwnedFd::from(writer));
    fcntl_setfl(&writer, OFlags::NONBLOCK).unwrap();
    for size in [4096, 1] {
        while writer.write_all(&vec![b'x'; size]).is_ok() {}
    }
    fcntl_setfl(&writer, OFlags::empty()).unwrap();
    (reader, Stdio::from(writer))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lock_is_released_although_nobody_reads_the_report() {
    let server = RedisServer::start().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let (_unread, errors) = full_pipe();
    let mut run = Command::new(env!("CARGO_BIN_EXE_leasehold"));
    run.args(["run", "--key", "k", "--ttl", "1h", "--", "no-such-program"])
        .env("LEASEHOLD_URL", server.url())
        .stdin(Stdio::null())
        .stderr(errors);
    let mut run = Process::start(run).unwrap();
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = run.ended().unwrap() {
            break status;
        }
        assert!(begin.elapsed() < PATIENCE, "`run` should end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(status.code(), Some(127));
    assert!(locks.inspect("k").await.unwrap().is_free());
}
