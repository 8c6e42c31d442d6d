//! Processes: communication, stopping, and their end.

use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use leasehold_testkit::processes::{ChildProcess, Process, ProcessError, ProcessGroup};

use crate::fake::Outcome;

const SOON: Duration = Duration::from_secs(10);
const NOW: Duration = Duration::from_millis(50);

fn shell(script: &str) -> Result<ChildProcess, ProcessError> {
    ChildProcess::of("sh").args(["-c", script]).start()
}

/// Returns the state of a process: `S` sleeping, `T` stopped, `None` if it does not exist.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit(") ").next()?.chars().next()
}

#[tokio::test]
async fn reads_lines_and_writes_them() -> Outcome {
    let mut child = ChildProcess::of("sh")
        .args(["-c", "echo \"$GREETING\"; read -r line; echo got $line"])
        .env("GREETING", "hello")
        .start()?;
    assert_eq!(child.next_line().await.as_deref(), Some("hello"));
    child.tell("this")?;
    let line = child.line_where(SOON, |line| line.contains("got")).await?;
    assert_eq!(line, "got this");
    assert!(child.end(SOON).await?.success());
    assert_eq!(child.next_line().await, None);
    Ok(())
}

#[tokio::test]
async fn an_end_of_input_can_be_told() -> Outcome {
    let mut child = shell("cat; echo end")?;
    child.tell("line")?;
    child.tell_no_more();
    child.line_where(SOON, |line| line == "end").await?;
    Ok(())
}

#[tokio::test]
async fn says_what_a_process_said_last() -> Outcome {
    let mut child = shell("echo one; echo two >&2; exit 3")?;
    assert_eq!(child.end(SOON).await?.code(), Some(3));
    let Err(error @ ProcessError::Ended { .. }) = child.line_where(SOON, |_| false).await else {
        return Err("there is no such line".into());
    };
    assert!(error.to_string().contains("one"), "{error}");

    let mut child = shell("sleep 60")?;
    let late = child.end(NOW).await;
    assert!(matches!(late, Err(ProcessError::Late { .. })), "{late:?}");
    let late = child.line_where(NOW, |_| true).await;
    assert!(matches!(late, Err(ProcessError::Late { .. })), "{late:?}");
    Ok(())
}

#[tokio::test]
async fn a_paused_process_does_nothing() -> Outcome {
    let mut child = shell("while read -r line; do echo $line; done")?;
    child.pause()?;
    assert_eq!(state(child.pid()), Some('T'));
    child.tell("line")?;
    let late = child.line_where(NOW, |_| true).await;
    assert!(matches!(late, Err(ProcessError::Late { .. })), "{late:?}");
    child.resume()?;
    assert_eq!(child.line_where(SOON, |_| true).await?, "line");
    Ok(())
}

#[tokio::test]
async fn a_killed_process_is_gone_and_cannot_be_stopped() -> Outcome {
    let mut child = shell("sleep 60")?;
    let pid = child.pid();
    child.pause()?;
    child.kill();
    assert_eq!(state(pid), None);
    child.kill();
    for refused in [child.pause(), child.resume()] {
        assert!(
            matches!(refused, Err(ProcessError::Act { .. })),
            "{refused:?}"
        );
    }
    assert!(!child.end(SOON).await?.success());
    Ok(())
}

#[tokio::test]
async fn one_that_ended_by_itself_cannot_be_stopped() -> Outcome {
    let mut child = shell("exit 0")?;
    // Nothing else waits for the end of the process.
    assert_eq!(child.next_line().await, None);
    let begin = Instant::now();
    while child.pause().is_ok() {
        assert!(begin.elapsed() < SOON);
        child.resume()?;
    }
    assert!(child.end(SOON).await?.success());
    Ok(())
}

#[test]
fn one_that_is_dropped_is_killed() -> Outcome {
    let mut command = Command::new("sleep");
    command.arg("60");
    let process = Process::start(command)?;
    let pid = process.pid();
    assert!(state(pid).is_some());
    drop(process);
    assert_eq!(state(pid), None);
    Ok(())
}

#[test]
fn a_program_which_is_not_there_is_named() {
    let missing = Process::start(Command::new("no-such-program-here"));
    let error = missing.expect_err("it is not there").to_string();
    assert!(error.contains("`no-such-program-here`"), "{error}");
}

const PART: &str = "LEASEHOLD_TESTKIT_PART";

/// This is not a test by itself, but the process that the next test kills.
#[test]
fn part_of_the_next() -> Outcome {
    if env::var_os(PART).is_some() {
        let folder = tempfile::tempdir()?.keep();
        std::fs::write(folder.join("file"), "")?;
        let mut command = Command::new("sleep");
        command.arg("60");
        let process = Process::start_in(&folder, command)?;
        println!("\npid {} {}", process.pid(), folder.display());
        thread::sleep(Duration::from_secs(60));
    }
    Ok(())
}

#[tokio::test]
async fn processes_and_their_folders_end_with_a_killed_test() -> Outcome {
    let mut child = ChildProcess::of(env::current_exe()?)
        .args(["--exact", "processes::part_of_the_next", "--nocapture"])
        .env(PART, "yes")
        .start()?;
    let line = child
        .line_where(SOON, |line| line.starts_with("pid "))
        .await?;
    let told = line.trim_start_matches("pid ").split_once(' ');
    let (pid, folder) = told.ok_or("there is no folder")?;
    let (pid, folder) = (pid.parse()?, Path::new(folder));
    assert!(Path::new(&format!("/proc/{pid}")).exists() && folder.exists());
    child.kill();
    let begin = Instant::now();
    // The new parent process may leave it as a zombie.
    while !matches!(state(pid), None | Some('Z')) || folder.exists() {
        assert!(
            begin.elapsed() < SOON,
            "{pid} still runs, or {folder:?} is still there"
        );
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

#[tokio::test]
async fn a_group_is_told_and_heard_together_and_keeps_the_notes_of_the_killed() -> Outcome {
    let mut group = ProcessGroup::of("sh")?;
    for _ in 0..3 {
        let script = "echo noted > $0.holds; read word; echo $word; exit $((${#word} - 2))";
        group.start(|process, notes| process.args(["-c", script]).arg(notes))?;
    }
    group.tell("go")?;
    assert_eq!(group.lines(SOON, |_| true).await?, ["go"; 3]);
    group.kill(1);
    group.end(SOON).await?;
    assert_eq!((group.processes.len(), group.notes("holds").len()), (2, 3));
    assert_eq!(group.notes("").len(), 0);
    group.start(|process, _| process.args(["-c", "exit 3"]))?;
    let failed = group.end(SOON).await;
    assert!(
        matches!(failed, Err(ProcessError::Ended { .. })),
        "{failed:?}"
    );
    Ok(())
}
