//! What a test run prints.
#![allow(clippy::print_stdout, reason = "printing is what this room is for")]

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use super::Outcome;
use super::steps::{Step, Work};

/// Which step of how many.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) of: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}/{}]", self.number, self.of)
    }
}

/// Says which tools are used.
pub(super) fn tools(versions: &[String]) {
    println!("{}", versions.join(", "));
}

/// Says that a step begins.
pub(super) fn begin(place: Place, step: &Step) {
    print!("{place} {} ... ", step.name);
    if echoes(step) {
        println!();
    }
    // A terminal which is gone is no reason to stop.
    drop(io::stdout().flush());
}

/// Prints a line of a step which is worth following.
pub(super) fn echo(line: &str) {
    println!("{line}");
}

/// Says how a step went: briefly if well, with all its output if not.
pub(super) fn end(place: Place, step: &Step, outcome: &Outcome) {
    if echoes(step) {
        print!("{place} {} ... ", step.name);
    }
    println!("{} {}", word(outcome), seconds(outcome.took));
    if !outcome.holds() {
        for line in &outcome.output {
            println!("{line}");
        }
    }
    for line in outcome.notes.iter().chain(&outcome.faults) {
        println!("    {line}");
    }
}

/// Prints the table of steps and, as the very last line, the sum.
pub(super) fn summary(outcomes: &[Outcome]) {
    println!();
    for outcome in outcomes {
        let took = seconds(outcome.took);
        println!("{:>6} {took:>9}  {}", word(outcome), outcome.name);
        for fault in &outcome.faults {
            println!("{:18}{fault}", "");
        }
    }
    let passed: u64 = outcomes.iter().map(|it| it.passed).sum();
    let failed: u64 = outcomes.iter().map(|it| it.failed).sum();
    println!("\n{passed} passed, {failed} failed");
}

fn echoes(step: &Step) -> bool {
    matches!(step.work, Work::Tests(_) | Work::Binaries { .. })
}

fn word(outcome: &Outcome) -> &'static str {
    if outcome.holds() { "ok" } else { "FAILED" }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
