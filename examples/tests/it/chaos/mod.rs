//! Chaos tests of twelve mistakes in code that uses locks, each with its corrected version.
//!
//! The tests find eleven of the mistakes. They do not find code that blocks the thread: see `blocking.rs`.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

mod blocking;
mod cache;
mod fencing;
mod keys;
mod loss;
mod release;
mod replay;
mod service;

use std::time::Duration;

use leasehold::chaos::{Chaos, ChaosTest, Failure};

/// Returns a test that tries each fault, however slow the machine is.
fn patient() -> ChaosTest {
    ChaosTest::new().time_limit(Duration::from_secs(600))
}

/// Returns the failure that the test finds in code with a mistake.
fn found(body: impl AsyncFn(Chaos)) -> Failure {
    let failure = patient().check(body).unwrap_err();
    println!("{failure}");
    failure
}

/// Checks that the corrected code passes with every fault.
fn passes(body: impl AsyncFn(Chaos)) {
    let summary = patient().check(body).unwrap();
    println!("{summary:?}");
    assert!(summary.is_exhaustive(), "{summary:?}");
    assert_eq!(summary.unreached, 0, "{summary:?}");
}

/// Returns how many clients reported success.
fn succeeded<T, E>(ends: &[Option<Result<T, E>>]) -> i64 {
    let succeeded = ends.iter().flatten().filter(|end| end.is_ok()).count();
    i64::try_from(succeeded).unwrap()
}
