//! A short soak; `--bin soak` runs the long form.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests")]

use std::alloc::System;
use std::time::Duration;

use leasehold_nemesis::soak::{Extent, Plan, run};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn soak_with_cancelled_acquires_leaks_no_memory_connections_or_keys() {
    const NUMBER: u64 = 3_000;
    let plan = Plan {
        extent: Extent::Acquisitions(NUMBER),
        faults_every: Duration::from_millis(700),
        progress_every: Duration::from_secs(2),
        outwait_seals: false,
        seed: fastrand::u64(..),
        ..Plan::default()
    };
    println!("{plan:?}");
    let report = run(&plan, |line| println!("{line}")).await.unwrap();
    let counts = report.counts;
    assert_eq!(report.faults, [""; 0], "{counts:?}");
    assert_eq!(counts.begun, NUMBER);
    assert!(report.last.heap > 0 && report.last.connections > 0);
    // Otherwise the counts would not be meaningful.
    assert!(counts.cancelled >= NUMBER / 25, "{counts:?}");
    assert!(counts.acquired > NUMBER / 2, "{counts:?}");
    assert!(counts.faults > 0, "{counts:?}");
}
