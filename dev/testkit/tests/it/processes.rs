//! Processes: communication, stopping, and their end.

use std::env;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use leasehold_testkit::processes::{ChildProcess, Process, ProcessError, ProcessGroup};

use crate::fake::Outcome;

const SOON: Duration = Duration::from_secs(60);
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
async fn lines_are_exchanged_with_a_child_process() -> Outcome {
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
async fn tell_no_more_closes_the_input_of_the_process() -> Outcome {
    let mut child = shell("cat; echo end")?;
    child.tell("line")?;
    child.tell_no_more();
    child.line_where(SOON, |line| line == "end").await?;
    Ok(())
}

#[tokio::test]
async fn error_contains_the_last_output_of_an_ended_process() -> Outcome {
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
async fn paused_process_reads_nothing_until_it_is_resumed() -> Outcome {
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
async fn killed_process_does_not_exist_and_cannot_be_paused() -> Outcome {
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
async fn exited_process_cannot_be_paused() -> Outcome {
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
fn dropped_process_is_killed() -> Outcome {
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
fn missing_program_is_named_in_the_error() {
    let missing = Process::start(Command::new("no-such-program-here"));
    let error = missing.expect_err("it is not there").to_string();
    assert!(error.contains("`no-such-program-here`"), "{error}");
}

const PART: &str = "LEASEHOLD_TESTKIT_PART";

/// This is not a test by itself, but the process that the next test kills.
#[test]
fn child_process_of_the_killed_test() -> Outcome {
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
async fn kill_of_a_test_ends_its_processes_and_deletes_their_folders() -> Outcome {
    let mut child = ChildProcess::of(env::current_exe()?)
        .args([
            "--exact",
            "processes::child_process_of_the_killed_test",
            "--nocapture",
        ])
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
async fn process_group_keeps_the_files_of_killed_members() -> Outcome {
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
