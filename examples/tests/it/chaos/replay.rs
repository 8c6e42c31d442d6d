//! The report of a failure is the same in each process.

use std::process::Command;

/// A test with a fault in `SQLite`, and a test with a fault in memory.
const TESTS: [&str; 2] = [
    "chaos::fencing::write_without_a_fence_is_found",
    "chaos::loss::work_after_a_loss_is_found",
];

fn report(test: &str, replay: Option<&str>) -> String {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    command.env_remove("LEASEHOLD_CHAOS");
    if let Some(replay) = replay {
        command.env("LEASEHOLD_CHAOS", replay);
    }
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let start = output.find("a run failed").unwrap();
    let end = output[start..].find("\n\n").unwrap();
    output[start..start + end].to_owned()
}

#[test]
fn two_processes_print_the_same_history() {
    for test in TESTS {
        let first = report(test, None);
        assert_eq!(first, report(test, None));
        assert!(
            first.contains("FAULT") && first.lines().count() > 10,
            "{first}"
        );
    }
}

#[test]
fn replay_prints_the_same_history() {
    for test in TESTS {
        let first = report(test, None);
        let (_, replay) = first.split_once("LEASEHOLD_CHAOS=").unwrap();
        let (replay, _) = replay.split_once(' ').unwrap();
        assert_eq!(first, report(test, Some(replay)));
    }
}
