//! Many acquisitions of every kind during faults, some of them cancelled. Prints which resources have grown or are
//! left, and fails if there are any. By default it runs for an hour.
//!
//! ```sh
//! cargo run --release -p leasehold-nemesis --bin soak -- --acquisitions 1000000
//! ```

#![allow(clippy::print_stdout, reason = "it talks to its reader")]

use std::alloc::System;
use std::process::ExitCode;
use std::time::Duration;

use leasehold_nemesis::BoxError;
use leasehold_nemesis::soak::{self, Extent, Plan, Report};
use lexopt::prelude::{Long, Short, ValueExt};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const USAGE: &str = "\
soak                    for an hour
soak --minutes N        for so long
soak --acquisitions N   for so many, the cancelled among them
soak --cancelled P      so many percent are dropped after a few polls; 5 if not said
soak --tasks N          so many tasks of each of the two managers; 32 if not said
soak --seed N           other chances";

fn plan(mut words: lexopt::Parser) -> Result<Option<Plan>, lexopt::Error> {
    let mut plan = Plan::default();
    while let Some(word) = words.next()? {
        match word {
            Long("minutes") => {
                let minutes: u64 = words.value()?.parse()?;
                plan.extent = Extent::Time(Duration::from_secs(minutes * 60));
            }
            Long("acquisitions") => {
                plan.extent = Extent::Acquisitions(words.value()?.parse()?);
            }
            Long("cancelled") => {
                let percent: f64 = words.value()?.parse()?;
                plan.cancelled = percent / 100.0;
            }
            Long("tasks") => plan.tasks = words.value()?.parse()?,
            Long("seed") => plan.seed = words.value()?.parse()?,
            Long("help") | Short('h') => return Ok(None),
            other => return Err(other.unexpected()),
        }
    }
    Ok(Some(plan))
}

#[tokio::main]
async fn main() -> Result<ExitCode, BoxError> {
    let Some(plan) = plan(lexopt::Parser::from_env())? else {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    };
    let report = soak::run(&plan, |line| println!("{line}")).await?;
    summary(&report);
    Ok(if report.faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn summary(report: &Report) {
    let Report {
        counts,
        took,
        first,
        last,
        gone,
        faults,
    } = report;
    println!();
    println!(
        "{} acquisitions in {:.0} s: {} guards, {} cancelled ({:.1} %), {} timed out, {} failed",
        counts.begun,
        took.as_secs_f64(),
        counts.acquired,
        counts.cancelled,
        counts.cancelled as f64 / counts.begun as f64 * 100.0,
        counts.timed_out,
        counts.failed,
    );
    println!(
        "{} faults, {} guards lost, {} overlaps, {} tokens out of order",
        counts.faults, counts.lost, counts.overlaps, counts.unordered
    );
    println!();
    println!(
        "{:<24}{:>16}{:>16}{:>16}",
        "at rest after", first.begun, last.begun, "the managers"
    );
    let rows: [(&str, [u64; 3]); 9] = [
        ("heap, bytes", [first.heap, last.heap, gone.heap]),
        (
            "resident, bytes",
            [first.resident, last.resident, gone.resident],
        ),
        ("open files", [first.files, last.files, gone.files]),
        ("tasks", [first.tasks, last.tasks, gone.tasks]),
        (
            "server's memory, bytes",
            [first.server_memory, last.server_memory, gone.server_memory],
        ),
        (
            "connections",
            [first.connections, last.connections, gone.connections],
        ),
        (
            "counters (two days)",
            [first.keys.counters, last.keys.counters, gone.keys.counters],
        ),
        (
            "seals (a minute)",
            [first.keys.seals, last.keys.seals, gone.keys.seals],
        ),
        (
            "other keys",
            [&first.keys, &last.keys, &gone.keys].map(|keys| keys.others.len() as u64),
        ),
    ];
    for (name, [first, last, gone]) in rows {
        println!("{name:<24}{first:>16}{last:>16}{gone:>16}");
    }
    println!();
    for fault in faults {
        println!("FAILED: {fault}");
    }
    if faults.is_empty() {
        println!("nothing grew, and nothing is left");
    }
}
