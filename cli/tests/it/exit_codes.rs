//! The exit codes that the help of `run` lists.

use leasehold_testkit::servers::RedisServer;
use rustix::process::Signal;

use crate::program::{PATIENCE, code, leasehold, run, signal, until_said};

#[tokio::test(flavor = "multi_thread")]
async fn each_outcome_of_run_has_the_documented_exit_code() {
    let server = RedisServer::start().await.unwrap();
    let mut other = run(&server, "busy", &["--label", "api-7"])
        .args(["sh", "-c", "echo held; read end"])
        .start()
        .unwrap();
    other
        .line_where(PATIENCE, |line| line == "held")
        .await
        .unwrap();
    let url = server.url();
    let free = ["--url", &url, "--key", "free"];
    let busy = ["--url", &url, "--key", "busy"];
    let cases: &[(i32, &[&str], &[&str], &str)] = &[
        (0, &free, &["--", "true"], ""),
        (0, &free, &["true"], ""),
        (7, &free, &["--", "sh", "-c", "exit 7"], ""),
        (255, &free, &["--", "sh", "-c", "exit 255"], ""),
        (143, &free, &["--", "sh", "-c", "kill -TERM $$"], ""),
        (137, &free, &["--", "sh", "-c", "kill -KILL $$"], ""),
        (
            127,
            &free,
            &["--", "no-such-program"],
            "cannot execute `no-such-program`",
        ),
        (
            126,
            &free,
            &["--", "/etc/passwd"],
            "cannot execute `/etc/passwd`",
        ),
        (126, &free, &["--", "/etc"], "cannot execute `/etc`"),
        (
            124,
            &busy,
            &["--wait", "0s", "--", "true"],
            "acquiring `busy` timed out",
        ),
        (124, &busy, &["--wait", "50ms", "--", "true"], ", by api-7"),
        (
            42,
            &busy,
            &["--wait", "0s", "-E", "42", "--", "true"],
            "acquiring `busy` timed out",
        ),
        (0, &busy, &["--skip", "--", "false"], ""),
        (0, &busy, &["--skip", "--wait", "50ms", "--", "false"], ""),
        (1, &free, &["--skip", "--", "false"], ""),
        (
            125,
            &free,
            &["--wait", "soon", "--", "true"],
            "'soon' for '--wait",
        ),
        (
            125,
            &free,
            &["--ttl", "999ms", "--", "true"],
            "give at least 1s",
        ),
        (
            125,
            &free,
            &["--ttl", "25h", "--", "true"],
            "give at most 86400s",
        ),
        (
            125,
            &free,
            &["--skip", "-E", "3", "--", "true"],
            "cannot be used with",
        ),
        (
            125,
            &free,
            &["--no-such-option", "--", "true"],
            "--no-such-option",
        ),
        (125, &free, &["--"], "<COMMAND>..."),
        (125, &["--url", &url], &["--", "true"], "--key <KEY>"),
        (
            125,
            &["--url", &url, "--key", ""],
            &["--", "true"],
            "cannot name a lock",
        ),
        (
            125,
            &["--url", "ftp://a", "--key", "k"],
            &["--", "true"],
            "use redis://",
        ),
        (
            125,
            &["--url", "redis://127.0.0.1:1", "--key", "k"],
            &["--wait", "0s", "--", "true"],
            "connecting to 127.0.0.1:1 failed",
        ),
        (0, &[], &["--help"], ""),
    ];
    for (expected, lock, rest, message) in cases {
        let mut process = leasehold()
            .arg("run")
            .args(*lock)
            .args(*rest)
            .start()
            .unwrap();
        let found = code(&mut process).await;
        let said = || process.last_words().trim_start().to_owned();
        assert_eq!(found, *expected, "{lock:?} {rest:?}: {}", said());
        until_said(&process, message).await;
        if *expected == 125 {
            let begins = ["leasehold: ", "error: "].map(|begin| said().starts_with(begin));
            assert!(begins.contains(&true), "{}", said());
        }
    }
    other.tell_no_more();
    assert_eq!(
        code(&mut other).await,
        1,
        "`read` fails at the end of its input"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_to_a_waiter_ends_the_wait_and_removes_it_from_the_queue() {
    let server = RedisServer::start().await.unwrap();
    let mut holder = run(&server, "k", &[])
        .args(["sh", "-c", "echo held; read end"])
        .start()
        .unwrap();
    holder
        .line_where(PATIENCE, |line| line == "held")
        .await
        .unwrap();
    for (ending, expected) in [
        (Signal::INT, 130),
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
    ] {
        let mut waiter = run(&server, "k", &[]).arg("true").start().unwrap();
        waiting(&server, 1).await;
        // This signal does not end the wait.
        signal(waiter.pid(), Signal::USR1);
        signal(waiter.pid(), ending);
        assert_eq!(code(&mut waiter).await, expected);
        waiting(&server, 0).await;
    }
}

async fn waiting(server: &RedisServer, number: usize) {
    let locks = leasehold::LockManager::connect(&server.url())
        .await
        .unwrap();
    let wanted = async {
        while locks.inspect("k").await.unwrap().waiting != number {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wanted).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn run_waits_for_a_backend_that_starts() {
    let server = RedisServer::start().await.unwrap();
    server.kill();
    let mut early = run(&server, "k", &["--wait", "2m"])
        .arg("true")
        .start()
        .unwrap();
    let mut skipping = run(&server, "k", &["--skip"]).arg("true").start().unwrap();
    assert_eq!(code(&mut skipping).await, 125);
    server.restart().await.unwrap();
    assert_eq!(code(&mut early).await, 0);
}
