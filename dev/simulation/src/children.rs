//! Runs each seed in its own process, so that tokio, hash maps and ids start in the same state.

use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::mistakes::Mistake;
use crate::randomness::Randomness;
pub use crate::randomness::Spawned;
use crate::report::Report;

/// The environment variable that names the seeded mistake.
pub(crate) const MISTAKE: &str = "LEASEHOLD_SIMULATION_MISTAKE";

/// The environment variable that makes a process print its history.
pub(crate) const SHOWN: &str = "LEASEHOLD_SIMULATION_SHOWN";

/// Runs a seed in a process of `program`, and returns its output: its result and its history.
///
/// # Errors
///
/// Returns [`Spawned`] if the process cannot be started.
pub fn run_one(program: &Path, seed: u64) -> Result<String, Spawned> {
    let output = process(program, &Randomness::build()?, seed)
        .env(SHOWN, "1")
        .output()?;
    Ok(said(&output))
}

/// Runs seeds in processes of `program`, with one process per core concurrently.
///
/// # Errors
///
/// Returns [`Spawned`] if a process cannot be started.
pub fn run_many(program: &Path, seeds: RangeInclusive<u64>) -> Result<Report, Spawned> {
    run(program, seeds, None)
}

/// Like [`run_many`], with a mistake.
///
/// # Errors
///
/// Returns [`Spawned`] if a process cannot be started.
pub fn run_mistaken(
    program: &Path,
    seeds: RangeInclusive<u64>,
    mistake: Mistake,
) -> Result<Report, Spawned> {
    run(program, seeds, Some(mistake))
}

fn run(
    program: &Path,
    seeds: RangeInclusive<u64>,
    mistake: Option<Mistake>,
) -> Result<Report, Spawned> {
    let randomness = Randomness::build()?;
    let next = AtomicU64::new(*seeds.start());
    let work = || -> Result<Report, Spawned> {
        let mut report = Report::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if !seeds.contains(&seed) {
                return Ok(report);
            }
            let mut process = process(program, &randomness, seed);
            process.envs(mistake.map(|it| (MISTAKE, it.name)));
            let output = process.output()?;
            report.add(seed, output.status.success(), &said(&output));
        }
    };
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let mut whole = Report::default();
        for worker in workers {
            whole.join(worker.join().map_err(|_| Spawned::Worker)??);
        }
        Ok(whole)
    })
}

fn process(program: &Path, randomness: &Randomness, seed: u64) -> Command {
    let mut process = Command::new(program);
    randomness.give(&mut process, seed);
    process
        .env_remove(SHOWN)
        .env_remove(MISTAKE)
        .stdin(Stdio::null());
    process
}

fn said(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    format!(
        "{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    )
}
