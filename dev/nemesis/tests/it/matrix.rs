//! The short form of the matrix, with each deployment, each fault and all kinds of data.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::process::{Command, Stdio};

use leasehold_testkit::depth;

/// In `cargo test` each cell takes about two seconds, mostly for waiting.
#[test]
fn fenced_writes_lose_nothing_on_each_deployment_with_each_fault() {
    let seconds = depth::scaled(1);
    let seed = depth::seed();
    let arguments = format!("--short --seconds {seconds} --at-once 4 --seed {seed}");
    let ran = Command::new(env!("CARGO_BIN_EXE_matrix"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    println!("{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains(" 0 things wrong"));
}
