//! Seeds satisfy all claims, and are reproducible.

use std::env;
use std::path::Path;

use leasehold_simulation::{Report, run_many, run_one};

/// The default number of seeds. The environment variable `LEASEHOLD_SIMULATION_SEEDS` overrides it.
const SEEDS: u64 = 1000;

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_leasehold-simulation"))
}

#[test]
fn every_seed_holds_what_is_claimed() {
    let seeds = env::var("LEASEHOLD_SIMULATION_SEEDS").ok();
    let seeds = seeds.map_or(SEEDS, |it| it.parse().expect("it is to be a number"));
    let report = run_many(program(), 1..=seeds).unwrap();
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
fn the_same_seed_has_the_same_history_to_the_letter() {
    let run = || -> Report { run_many(program(), 1..=24).unwrap() };
    let first = run();
    assert_eq!(first, run());
    let mut hashes: Vec<_> = first.hashes.values().collect();
    hashes.sort();
    hashes.dedup();
    assert_eq!(hashes.len(), 24, "different seeds, different histories");
    let history = || run_one(program(), 3).unwrap();
    assert_eq!(history(), history());
    assert!(history().lines().count() > 50);
}
