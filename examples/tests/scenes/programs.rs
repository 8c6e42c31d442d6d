//! Running an example.

use std::process::{Command, Output};

use leasehold_testkit::install::{self, Places};

/// Runs a program, and answers what it said and how it ended.
pub(crate) fn run(program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    // Where it is to find a server for itself.
    let redis = install::find(&install::REDIS, &Places::of(&install::REDIS)).unwrap();
    command.env("LEASEHOLD_REDIS_SERVER", &redis.path);
    if !redis.libraries.is_empty() {
        let libraries = std::env::join_paths(&redis.libraries).unwrap();
        command.env("LD_LIBRARY_PATH", libraries);
    }
    command.args(arguments).output().unwrap()
}

/// What it said, after a check that it ended well.
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
