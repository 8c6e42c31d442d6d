//! What happens to the command when the lock is lost, and how long the lock stays taken.

use std::io::{IoSlice, Read, Write, stdin};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::RedisServer;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use crate::program::{PATIENCE, code, is_alive, leasehold, run, until_said};

async fn pid(run: &mut ChildProcess) -> u32 {
    run.next_line().await.unwrap().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_comes_before_sigkill_and_both_before_the_end_of_the_lease() {
    let server = RedisServer::start().await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let script = "trap 'echo term' TERM; echo $$; while :; do sleep 0.01; done";
    let url = server.url_at(proxy.port());
    let mut run = leasehold()
        .args([
            "run", "--url", &url, "--key", "k", "--ttl", "6s", "--", "sh", "-c", script,
        ])
        .start()
        .unwrap();
    let command = pid(&mut run).await;
    proxy.set(Direction::ToServer, Traffic::Drop);
    run.line_where(PATIENCE, |line| line == "term")
        .await
        .unwrap();
    assert!(is_alive(command));
    assert_eq!(code(&mut run).await, 123);
    assert!(!is_alive(command));
    until_said(&run, "was not renewed in time").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_after_sigterm_counts_as_lost() {
    let server = RedisServer::start().await.unwrap();
    let proxy = Proxy::start(server.port()).await.unwrap();
    let url = server.url_at(proxy.port());
    let script = "trap 'echo bye; exit 0' TERM; echo $$; while :; do sleep 0.01; done";
    let mut run = leasehold()
        .args([
            "run", "--url", &url, "--key", "k", "--ttl", "5s", "--", "sh", "-c", script,
        ])
        .start()
        .unwrap();
    pid(&mut run).await;
    proxy.set(Direction::ToServer, Traffic::Drop);
    run.line_where(PATIENCE, |line| line == "bye")
        .await
        .unwrap();
    assert_eq!(code(&mut run).await, 123);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forced_release_kills_the_command() {
    let server = RedisServer::start().await.unwrap();
    let script = "trap 'echo term' TERM; echo $$; while :; do sleep 0.01; done";
    let mut run = run(&server, "k", &["--ttl", "1s"])
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    let command = pid(&mut run).await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    assert!(locks.force_release("k").await.unwrap());
    assert_eq!(code(&mut run).await, 123);
    assert!(!is_alive(command));
    until_said(&run, "the lock on `k`").await;
    until_said(&run, "the command was killed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_continues_after_a_loss_ends_with_the_code_for_a_loss() {
    let server = RedisServer::start().await.unwrap();
    let options = ["--ttl", "1s", "--on-loss", "continue"];
    let script = "echo $$; read end; exit 0";
    let mut run = run(&server, "k", &options)
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    let command = pid(&mut run).await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    assert!(locks.force_release("k").await.unwrap());
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(is_alive(command));
    run.tell("end").unwrap();
    assert_eq!(code(&mut run).await, 123);
    until_said(&run, "was lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_is_renewed_while_the_command_runs() {
    let server = RedisServer::start().await.unwrap();
    // Long enough for renewals on a busy machine.
    let mut run = run(&server, "k", &["--ttl", "6s"])
        .args(["sleep", "8"])
        .start()
        .unwrap();
    assert_eq!(code(&mut run).await, 0, "{}", run.last_words());
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_at_least_keeps_the_lock_held_after_a_short_command() {
    let server = RedisServer::start().await.unwrap();
    let options = ["--hold-at-least", "5s", "--ttl", "1s"];
    let begin = Instant::now();
    let mut first = run(&server, "k", &options).arg("true").start().unwrap();
    assert_eq!(code(&mut first).await, 0);
    let mut busy = run(&server, "k", &["--skip"]).arg("false").start().unwrap();
    assert_eq!(code(&mut busy).await, 0);
    let mut next = run(&server, "k", &["--wait", "60s"])
        .arg("true")
        .start()
        .unwrap();
    assert_eq!(code(&mut next).await, 0);
    assert!(begin.elapsed() >= Duration::from_secs(5));
}

/// The holder may be paused between the acquire and the start of the command.
#[test]
fn a_command_does_not_start_if_its_lease_is_about_to_end() {
    for (end, starts) in [(0, false), (u64::from(u32::MAX), true)] {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let mut supervisor = Command::new(env!("CARGO_BIN_EXE_leasehold"))
            .args(["supervise", "--on-loss", "kill", "--", "echo", "started"])
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let input = stdin();
        let input = [input.as_fd()];
        assert!(control.push(SendAncillaryMessage::ScmRights(&input)));
        sendmsg(
            &ours,
            &[IoSlice::new(b"0")],
            &mut control,
            SendFlags::empty(),
        )
        .unwrap();
        let deadline = format!(
            r#"{{"Deadline":{{"end":{{"secs":{end},"nanos":0}},"length":{{"secs":3,"nanos":0}}}}}}"#
        );
        writeln!(ours, "{deadline}").unwrap();
        let (mut output, mut report) = (String::new(), String::new());
        ours.read_to_string(&mut report).unwrap();
        let printed = supervisor.stdout.as_mut().unwrap();
        printed.read_to_string(&mut output).unwrap();
        supervisor.wait().unwrap();
        assert_eq!(output == "started\n", starts, "{output}");
        assert!(
            report.contains(&format!(r#""lost":{}"#, !starts)),
            "{report}"
        );
    }
}
