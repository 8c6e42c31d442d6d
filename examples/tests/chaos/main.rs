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

use std::time::Instant;

use leasehold::chaos::{Chaos, ChaosTest, Failure};

/// Returns the failure that the test finds in code with a mistake.
fn found(body: impl AsyncFn(Chaos)) -> Failure {
    let begin = Instant::now();
    let failure = ChaosTest::new().check(body).unwrap_err();
    println!("{failure}");
    assert!(begin.elapsed().as_secs() < 5, "{:?}", begin.elapsed());
    failure
}

/// Checks that the corrected code passes with every fault.
fn passes(body: impl AsyncFn(Chaos)) {
    let begin = Instant::now();
    let summary = ChaosTest::new().check(body).unwrap();
    println!("{summary:?} in {:?}", begin.elapsed());
    assert!(summary.is_exhaustive(), "{summary:?}");
    assert_eq!(summary.unreached, 0, "{summary:?}");
}

/// Returns how many clients reported success.
fn succeeded<T, E>(ends: &[Option<Result<T, E>>]) -> i64 {
    let succeeded = ends.iter().flatten().filter(|end| end.is_ok()).count();
    i64::try_from(succeeded).unwrap()
}
