//! Runs the explorations for longer than `cargo test` does: `cargo xtask explore`.
//!
//! A round runs each exploration once, with a seed that no earlier round had. A run continues where the last one has
//! ended, even if that one was interrupted. It ends after its first round, or with `--minutes` when the time is over.
#![allow(clippy::print_stdout, reason = "a command line talks to the terminal")]

mod list;
mod state;

use std::time::{Duration, Instant};

pub use list::{ALL, Exploration};
pub use state::Position;

use crate::depth::{DEPTH, SEED};
use crate::error::Error;
use crate::suite::{Counts, Job};
use crate::workspace::{Workspace, cargo};

/// The options of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Options {
    /// How long to run. `None` runs until the end of the round.
    pub minutes: Option<u64>,
    /// Runs only the explorations whose name contains this text.
    pub only: Option<String>,
}

/// An exploration that has failed.
#[derive(Debug)]
struct Failed {
    name: &'static str,
    command: String,
    tests: Vec<String>,
}

/// Runs the explorations, and prints their progress and a summary. Returns whether all of them passed.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if the options select no exploration, and [`Error::Run`] if cargo cannot be started.
pub fn run(options: &Options) -> Result<bool, Error> {
    let workspace = Workspace::read()?;
    let chosen = select(options.only.as_deref())?;
    let file = workspace.root.join("target/explore.json");
    // A selection starts from its own beginning, and leaves the position of the whole run alone.
    let is_whole = options.only.is_none();
    let mut position = if is_whole {
        Position::read(&file)
    } else {
        Position::FIRST
    };
    let begin = Instant::now();
    let limit = options.minutes.map(|it| Duration::from_secs(it * 60));
    let (mut ran, mut failures) = (0, Vec::new());
    loop {
        let Some(exploration) = chosen.get(position.done) else {
            position = Position::FIRST;
            continue;
        };
        if exploration.is_seeded || position.seed == Position::FIRST.seed {
            let number = position.done + 1;
            println!(
                "[{number}/{}] seed {}: {} …",
                chosen.len(),
                position.seed,
                exploration.name
            );
            failures.extend(explore(exploration, position.seed, &workspace)?);
            ran += 1;
        }
        position = position.next(chosen.len());
        if is_whole {
            position.write(&file)?;
        }
        let is_over = limit.map_or(position.done == 0, |limit| begin.elapsed() >= limit);
        if is_over {
            break;
        }
    }
    summary(ran, begin.elapsed(), &failures);
    Ok(failures.is_empty())
}

/// Returns the explorations whose name contains `only`.
fn select(only: Option<&str>) -> Result<Vec<Exploration>, Error> {
    let wanted = only.unwrap_or_default();
    let chosen = ALL.into_iter().filter(|it| it.name.contains(wanted));
    let chosen: Vec<Exploration> = chosen.collect();
    if chosen.is_empty() {
        return Err(Error::UnknownStep {
            wanted: wanted.to_owned(),
            known: ALL.iter().map(|it| it.name.to_owned()).collect(),
        });
    }
    Ok(chosen)
}

/// Returns the command of an exploration.
#[must_use]
pub fn command(exploration: &Exploration, seed: u64) -> Job {
    let words = format!(
        "test --locked --all-features --package {} {}",
        exploration.package, exploration.tests
    );
    let mut job = Job::new(&cargo(), words.split_whitespace());
    job.env = vec![
        (DEPTH.to_owned(), exploration.depth.to_string()),
        (SEED.to_owned(), seed.to_string()),
    ];
    job
}

fn explore(
    exploration: &Exploration,
    seed: u64,
    workspace: &Workspace,
) -> Result<Option<Failed>, Error> {
    let begin = Instant::now();
    let job = command(exploration, seed);
    let ran = job.run(&workspace.root, |_| {})?;
    let counts = Counts::of_lines(ran.lines.iter().map(String::as_str));
    let took = begin.elapsed().as_secs();
    if ran.failure.is_none() && counts.passed > 0 {
        println!("    ok, {} tests, {took} s", counts.passed);
        return Ok(None);
    }
    for line in &ran.lines {
        println!("{line}");
    }
    println!("    FAILED, {took} s");
    let tests = ran.lines.iter().filter_map(|it| Counts::failed_test(it));
    Ok(Some(Failed {
        name: exploration.name,
        command: job.shown(),
        tests: tests.collect(),
    }))
}

fn summary(ran: usize, took: Duration, failures: &[Failed]) {
    println!(
        "\n{ran} explorations in {} minutes, {} failed",
        took.as_secs() / 60,
        failures.len()
    );
    for failed in failures {
        println!("  {}: {}", failed.name, failed.tests.join(", "));
        println!("    repeat it with: {}", failed.command);
    }
}
