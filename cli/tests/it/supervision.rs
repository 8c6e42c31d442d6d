//! The command gets its environment, its input and its signals, and nothing of it is left when `run` returns.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::servers::RedisServer;
use rustix::process::Signal;

use crate::program::{PATIENCE, code, is_alive, leasehold, run, signal, supervisor, until};
use crate::writer::{Behaviour, Records};

#[tokio::test(flavor = "multi_thread")]
async fn the_command_gets_key_token_and_input() {
    let server = RedisServer::start().await.unwrap();
    let script = "echo $LEASEHOLD_KEY $LEASEHOLD_TOKEN; cat";
    let mut run = run(&server, "order:42", &[])
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    let line = run.next_line().await.unwrap();
    let locks = LockManager::connect(&server.url()).await.unwrap();
    let token = locks.inspect("order:42").await.unwrap().token.unwrap();
    assert_eq!(line, format!("order:42 {token}"));
    run.tell("from the input").unwrap();
    run.tell_no_more();
    assert_eq!(run.next_line().await.unwrap(), "from the input");
    assert_eq!(code(&mut run).await, 0);
    assert!(locks.inspect("order:42").await.unwrap().is_free());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_does_not_get_the_url_with_its_password() {
    let server = RedisServer::start().await.unwrap();
    let run = leasehold().env("LEASEHOLD_URL", server.url());
    let run = run.args([
        "run",
        "--key",
        "k",
        "--",
        "sh",
        "-c",
        "echo url=$LEASEHOLD_URL",
    ]);
    let mut run = run.start().unwrap();
    assert_eq!(run.next_line().await.unwrap(), "url=");
    assert_eq!(code(&mut run).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_are_forwarded_to_the_whole_process_group() {
    let server = RedisServer::start().await.unwrap();
    for (name, sent) in [
        ("HUP", Signal::HUP),
        ("INT", Signal::INT),
        ("QUIT", Signal::QUIT),
        ("TERM", Signal::TERM),
        ("USR1", Signal::USR1),
        ("USR2", Signal::USR2),
        ("WINCH", Signal::WINCH),
        ("CONT", Signal::CONT),
    ] {
        let one = format!(
            "trap 'echo {name} $1; exit 9' {name}; echo ready; while :; do sleep 0.01; done"
        );
        // A shell would make a process in its background ignore some of the signals.
        let script = "{ sh -c \"$0\" x child >&3 | sh -c \"$0\" x command; } 3>&1";
        let mut run = run(&server, name, &[])
            .args(["sh", "-c", &format!("trap 'exit 9' {name}; {script}"), &one])
            .start()
            .unwrap();
        for _ in 0..2 {
            run.line_where(PATIENCE, |line| line == "ready")
                .await
                .unwrap();
        }
        signal(run.pid(), sent);
        let mut lines = Vec::new();
        for _ in 0..2 {
            let line = run.line_where(PATIENCE, |line| line.starts_with(name));
            lines.push(line.await.unwrap());
        }
        lines.sort();
        assert_eq!(lines, [format!("{name} child"), format!("{name} command")]);
        assert_eq!(code(&mut run).await, 9);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_is_ignored_stays_ignored() {
    let server = RedisServer::start().await.unwrap();
    let program = env!("CARGO_BIN_EXE_leasehold");
    let nohup = leasehold_testkit::processes::ChildProcess::of("sh").args([
        "-c",
        "trap '' HUP; exec \"$@\"",
        "sh",
        program,
        "run",
        "--url",
        &server.url(),
        "--key",
        "k",
        "--",
        "sh",
        "-c",
        "kill -HUP $$; echo alive; read end; exit 4",
    ]);
    let mut run = nohup.start().unwrap();
    run.line_where(PATIENCE, |line| line == "alive")
        .await
        .unwrap();
    signal(run.pid(), Signal::HUP);
    run.tell("end").unwrap();
    assert_eq!(code(&mut run).await, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_left_by_the_command_end_before_run_exits() {
    let server = RedisServer::start().await.unwrap();
    for is_detached in [false, true] {
        let records = Records::new();
        let behaviour = Behaviour {
            is_detached,
            leaves: true,
            ..Behaviour::default()
        };
        let mut run = records
            .command(run(&server, "k", &[]), behaviour)
            .start()
            .unwrap();
        assert_eq!(code(&mut run).await, 3, "{}", run.last_words());
        let size = std::fs::metadata(records.path()).unwrap().len();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(std::fs::metadata(records.path()).unwrap().len(), size);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_left_by_the_command_that_ignore_sigterm_are_killed() {
    let server = RedisServer::start().await.unwrap();
    let script = "trap '' TERM; sleep 60 & echo $!; exit 5";
    let mut run = run(&server, "k", &[])
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    let left: u32 = run.next_line().await.unwrap().parse().unwrap();
    assert_eq!(code(&mut run).await, 5);
    assert!(!is_alive(left));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_holder_waits_for_a_process_that_ends_after_sigterm() {
    let server = RedisServer::start().await.unwrap();
    let script = "sh -c 'trap \"sleep 0.3; echo cleaned up; exit\" TERM; echo ready; while :; do sleep 0.01; done' & \
                  read go; exit 6";
    let mut run = run(&server, "k", &[])
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    run.line_where(PATIENCE, |line| line == "ready")
        .await
        .unwrap();
    run.tell("go").unwrap();
    run.line_where(PATIENCE, |line| line == "cleaned up")
        .await
        .unwrap();
    assert_eq!(code(&mut run).await, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_has_its_own_process_group_unless_it_stays_in_the_foreground() {
    let server = RedisServer::start().await.unwrap();
    for (options, is_shared) in [(&[][..], false), (&["--foreground"][..], true)] {
        let script = "cut -d' ' -f5 /proc/$$/stat; trap 'exit 8' USR1; echo ready; while :; do sleep 0.01; done";
        let mut run = run(&server, "k", options)
            .args(["sh", "-c", script])
            .start()
            .unwrap();
        let group = run.next_line().await.unwrap();
        // The program is the leader of its own group.
        assert_eq!(group == run.pid().to_string(), is_shared, "{options:?}");
        run.line_where(PATIENCE, |line| line == "ready")
            .await
            .unwrap();
        signal(run.pid(), Signal::USR1);
        assert_eq!(code(&mut run).await, 8);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_command_is_killed_with_its_holder() {
    let server = RedisServer::start().await.unwrap();
    let script = "echo $$; kill -STOP $$";
    let mut run = run(&server, "k", &["--ttl", "1s"])
        .args(["sh", "-c", script])
        .start()
        .unwrap();
    let command: u32 = run.next_line().await.unwrap().parse().unwrap();
    run.kill();
    until("the stopped command is killed", || !is_alive(command)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_gets_sigterm_as_soon_as_its_holder_is_killed() {
    let server = RedisServer::start().await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo ended > \"$0\"; exit' TERM; echo ready; while :; do sleep 0.01; done";
    let ended = folder.path().join("ended");
    // If the command ended with the lease, the test would fail.
    let mut run = run(&server, "k", &["--ttl", "10m"])
        .args(["sh", "-c", script])
        .arg(&ended)
        .start()
        .unwrap();
    run.line_where(PATIENCE, |line| line == "ready")
        .await
        .unwrap();
    let supervisor = supervisor(&run);
    let name = std::fs::read_to_string(format!("/proc/{supervisor}/comm")).unwrap();
    assert!(
        !name.contains("leasehold"),
        "{name}: `pkill leasehold` kills both"
    );
    run.kill();
    until("the command is ended", || ended.exists()).await;
    until("the supervisor has ended", || !is_alive(supervisor)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_file_excludes_the_commands_of_other_processes() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("locks.db").display());
    let lock = ["run", "--url", &url, "--key", "k"];
    let holder = leasehold().args(lock).args(["--", "sh", "-c"]);
    let mut holder = holder.arg("echo held; read end; exit 0").start().unwrap();
    holder
        .line_where(PATIENCE, |line| line == "held")
        .await
        .unwrap();
    let mut busy = leasehold()
        .args(lock)
        .args(["--wait", "0s", "true"])
        .start()
        .unwrap();
    assert_eq!(code(&mut busy).await, 124, "{}", busy.last_words());
    holder.tell("end").unwrap();
    assert_eq!(code(&mut holder).await, 0, "{}", holder.last_words());
    let mut next = leasehold()
        .args(lock)
        .args(["--wait", "0s", "true"])
        .start()
        .unwrap();
    assert_eq!(code(&mut next).await, 0, "{}", next.last_words());
}
