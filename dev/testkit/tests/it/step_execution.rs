//! Tests the execution of steps. A shell script replaces cargo.

use std::path::Path;
use std::time::{Duration, Instant};

use leasehold_testkit::suite::steps::{Step, Work};
use leasehold_testkit::suite::{self, Job, perform};

use crate::fake;

/// Returns the outcome of a step, and the echoed lines.
fn done(work: Work) -> (suite::Outcome, Vec<String>) {
    let step = Step {
        name: "it".to_owned(),
        work,
    };
    let workspace = fake::workspace(Path::new("/"));
    let mut echoed = Vec::new();
    let outcome = perform(&step, &workspace, |line| echoed.push(line.to_owned()));
    (outcome, echoed)
}

fn shell(script: &str) -> Job {
    Job::new("sh", ["-c", script])
}

fn tests(script: &str) -> (suite::Outcome, Vec<String>) {
    done(Work::Tests(shell(script)))
}

#[test]
fn command_counts_as_one_test() {
    let (outcome, echoed) = done(Work::Command(shell("echo out; echo err >&2")));
    assert_eq!((outcome.passed, outcome.failed), (1, 0));
    assert_eq!(outcome.output, ["out", "err"]);
    assert_eq!(echoed, [""; 0]);

    let (outcome, _) = done(Work::Command(shell("echo why; exit 3")));
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    assert_eq!(outcome.output, ["why"]);
    assert_eq!(
        outcome.faults,
        ["`sh -c 'echo why; exit 3'` failed: exit status: 3"]
    );
}

#[test]
fn a_command_which_cannot_start_fails() {
    let job = Job::new("no-such-program-here", ["--now"]);
    let (outcome, _) = done(Work::Command(job));
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    let fault = &outcome.faults[0];
    assert!(
        fault.starts_with("cannot run `no-such-program-here --now`"),
        "{fault}"
    );
}

#[test]
fn tests_are_counted_and_echoed() {
    let (outcome, echoed) = tests(
        "echo 'test result: ok. 3 passed; 0 failed; 0 ignored';
         echo 'test result: ok. 4 passed; 0 failed; 0 ignored'",
    );
    assert!(outcome.holds());
    assert_eq!((outcome.passed, outcome.failed), (7, 0));
    assert_eq!(echoed.len(), 2);
    assert_eq!(outcome.output, [""; 0]);
}

#[test]
fn failed_tests_are_counted_and_named() {
    let (outcome, _) = tests(
        "echo 'test a::b ... FAILED';
         echo 'test result: FAILED. 3 passed; 2 failed; 0 ignored'; exit 101",
    );
    assert_eq!((outcome.passed, outcome.failed), (3, 2));
    assert_eq!(outcome.faults[1..], ["failed: a::b"]);
}

#[test]
fn tests_which_do_not_compile_fail() {
    let (outcome, _) = tests("echo 'test result: ok. 3 passed; 0 failed; 0 ignored'; exit 101");
    assert_eq!((outcome.passed, outcome.failed), (3, 1));
}

#[test]
fn ignored_tests_count_as_failed() {
    let (outcome, _) = tests("echo 'test result: ok. 3 passed; 0 failed; 2 ignored'");
    assert_eq!((outcome.passed, outcome.failed), (3, 2));
    assert!(
        outcome.faults[0].starts_with("2 tests are ignored"),
        "{:?}",
        outcome.faults
    );
}

#[test]
fn step_without_any_test_fails() {
    for script in [
        "true",
        "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'",
    ] {
        let (outcome, _) = tests(script);
        assert_eq!((outcome.passed, outcome.failed), (0, 1));
        assert_eq!(outcome.faults, ["not one test ran"]);
    }
}

#[test]
fn background_process_left_by_a_command_does_not_block_the_step() {
    let begin = Instant::now();
    let (outcome, _) = done(Work::Command(shell("sleep 20 & echo left")));
    assert!(outcome.holds());
    assert_eq!(outcome.output, ["left"]);
    assert!(begin.elapsed() < Duration::from_secs(10));
}

#[test]
fn impossible_step_fails_with_its_reason() {
    let (outcome, _) = done(Work::Impossible("no".to_owned()));
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    assert_eq!(outcome.faults, ["no"]);
}
