//! The output of a test run.
#![allow(clippy::print_stdout, reason = "printing is what this room is for")]

use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use super::Outcome;
use super::steps::{Step, Work};

/// The number of a step, and the number of all steps.
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

/// Prints the versions of the tools.
pub(super) fn tools(versions: &[String]) {
    println!("{}", versions.join(", "));
}

/// Prints the beginning of a step.
pub(super) fn begin(place: Place, step: &Step) {
    print!("{place} {} ... ", step.name);
    if echoes(step) {
        println!();
    }
    // A closed terminal does not stop the run.
    drop(io::stdout().flush());
}

/// Prints a line of a step.
pub(super) fn echo(line: &str) {
    println!("{line}");
}

/// Prints the outcome of a step: a short line after a success, and all its output after a failure.
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

/// Prints the table of steps and, as the last line, the sum.
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
