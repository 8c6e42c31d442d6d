//! The short form of the matrix, with each deployment, each fault and all kinds of data.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::process::{Command, Stdio};

/// Each cell takes only a few seconds, so the matrix takes about a minute, mostly for waiting. The environment variable
/// `LEASEHOLD_NEMESIS` sets other arguments.
#[test]
fn under_a_fence_nothing_is_lost_whatever_happens_to_the_locks() {
    let arguments = std::env::var("LEASEHOLD_NEMESIS");
    let arguments = arguments.unwrap_or_else(|_| "--short --at-once 3".to_owned());
    let ran = Command::new(env!("CARGO_BIN_EXE_matrix"))
        .args(arguments.split_whitespace())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    println!("{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains(" 0 things wrong"));
}
