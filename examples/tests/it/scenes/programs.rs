//! Runs an example.

use std::process::{Command, Output};

use leasehold_testkit::install::{self, Places};

/// Runs a program, and returns its output and its exit status.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    // Sets the server that the program starts.
    let redis = install::find(&install::REDIS, &Places::of(&install::REDIS)).unwrap();
    command.env("LEASEHOLD_REDIS_SERVER", &redis.path);
    if !redis.libraries.is_empty() {
        let libraries = std::env::join_paths(&redis.libraries).unwrap();
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(arguments).output().unwrap()
}

/// Returns the output of a program, after a check that it succeeded.
pub(crate) fn said(program: &str, arguments: &[&str]) -> String {
    let output = run(program, arguments);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {text}{errors}");
    text
}

pub(crate) fn assert_says(text: &str, wanted: &str) {
    assert!(text.contains(wanted), "no {wanted:?} in:\n{text}");
}
