//! Seeds satisfy all claims, and are reproducible.

use std::path::Path;

use leasehold_simulation::{Report, run_many, run_one};
use leasehold_testkit::depth;

/// The number of seeds in `cargo test`.
const SEEDS: u64 = 60;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_leasehold-simulation"))
}

#[test]
fn each_seed_satisfies_all_claims() {
    let (first, seeds) = (depth::seed(), depth::scaled(SEEDS));
    let report = run_many(program(), first..=first + seeds - 1).unwrap();
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.hashes.len() as u64, seeds);
    // A run without faults would prove nothing.
    let reached = ["grants", "lost", "cut", "busy", "failed", "faults"];
    for what in reached
        .iter()
        .chain(&["passed", "together", "recorded", "found", "led"])
    {
        assert!(report.counts[*what] >= seeds / 4, "{what}: {report}");
    }
    // A late record needs the loss of its lock.
    assert!(report.counts["refused"] >= seeds / 20, "{report}");
    // This event needs three tasks within ten milliseconds.
    assert!(report.counts["parked"] >= seeds / 20, "{report}");
}

#[test]
fn same_seed_produces_the_same_history() {
    let run = || -> Report { run_many(program(), 1..=4).unwrap() };
    let first = run();
    assert_eq!(first, run());
    let mut hashes: Vec<_> = first.hashes.values().collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 4, "different seeds, different histories");
    let history = || run_one(program(), 3).unwrap();
    assert_eq!(history(), history());
    assert!(history().lines().count() > 50);
}
