//! The steps of a test run.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use super::{Job, TOGETHER, Variant, commands};
use crate::error::Error;
use crate::lint::Check;
use crate::workspace::{Member, Workspace, cargo};

/// The variables that make clippy the compiler of the workspace, with warnings as errors. `cargo clippy` sets the first
/// two. A panic names its line without debug information, which takes a tenth of the time of the compiler.
pub(super) const CLIPPY: [(&str, &str); 3] = [
    ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
    ("CLIPPY_ARGS", "-Dwarnings__CLIPPY_HACKERY__"),
    ("CARGO_PROFILE_DEV_DEBUG", "false"),
];

/// The benchmarks build many other libraries, so they are only checked.
const BENCH: &str = "leasehold-bench";

/// A step of a test run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The name of the step.
    pub name: String,
    /// The work of the step.
    pub work: Work,
}

/// The work of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// Runs a command, which must succeed.
    Command(Job),
    /// Runs tests, which must all pass. There must be at least one.
    Tests(Job),
    /// Builds test binaries and runs them concurrently. Their tests must all pass, and there must be at least one.
    Binaries {
        /// The `cargo test` command that builds them, and would run them one after another.
        build: Job,
        /// The path of `cargo xtask`. With the first argument `note`, it [describes](super::note) a command instead of
        /// running it.
        runner: String,
        /// Whether missing servers are installed during the build.
        installs_servers: bool,
        /// Each of these runs tests of its binary once more, with other settings of the server.
        variants: &'static [Variant],
    },
    /// Runs commands, which must all succeed, if a manifest has changed since they last did.
    Manifests(Vec<Job>),
    /// Checks the structure.
    Lint(Check),
    /// Fails for a reason that was known before the run.
    Impossible(String),
}

/// Returns all steps in order. Steps that fail fast come first. For `runner` see
/// [`Work::Binaries`].
#[must_use]
pub fn all(workspace: &Workspace, runner: &str) -> Vec<Step> {
    let mut steps = vec![step("format", command("fmt --all --check"))];
    for check in Check::ALL {
        steps.push(step(check.name(), Work::Lint(check)));
    }
    let binaries = Work::Binaries {
        build: binaries(),
        runner: runner.to_owned(),
        installs_servers: true,
        variants: &TOGETHER,
    };
    steps.push(step("clippy and tests", binaries));
    steps.push(step("doc tests", Work::Tests(tests("--doc"))));
    steps.push(step("docs", docs(workspace)));
    for member in published(workspace) {
        let sets = member.feature_sets.iter();
        steps.extend(sets.map(|features| feature_set(member, features)));
    }
    let bench = linted(cargo_job(&format!(
        "check --locked --package {BENCH} --all-targets --all-features"
    )));
    steps.push(step("benchmarks", Work::Command(bench)));
    steps.push(step(
        "manifests",
        manifests(workspace).map_or_else(Work::Impossible, Work::Manifests),
    ));
    steps
}

/// Returns the command that builds the test binaries, and would run them one after another.
pub(super) fn binaries() -> Job {
    tests("--tests --examples")
}

/// Returns the steps whose name contains `only`, or all steps if it is `None`.
///
/// # Errors
///
/// Returns [`Error::UnknownStep`] if no step matches.
pub fn select(steps: Vec<Step>, only: Option<&str>) -> Result<Vec<Step>, Error> {
    let Some(wanted) = only else {
        return Ok(steps);
    };
    let (chosen, others): (Vec<Step>, Vec<Step>) = steps
        .into_iter()
        .partition(|step| step.name.contains(wanted));
    if chosen.is_empty() {
        return Err(Error::UnknownStep {
            wanted: wanted.to_owned(),
            known: others.into_iter().map(|step| step.name).collect(),
        });
    }
    Ok(chosen)
}

/// Checks a package with a set of features that can break alone.
fn feature_set(member: &Member, features: &str) -> Step {
    let package = &member.name;
    let shown = if features.is_empty() {
        "none"
    } else {
        features
    };
    let with = format!("--package {package} --no-default-features --features={features}");
    step(
        &format!("features: {package}, {shown}"),
        Work::Command(linted(cargo_job(&format!("check --locked {with}")))),
    )
}

/// The checks that only a change of a manifest can break.
fn manifests(workspace: &Workspace) -> Result<Vec<Job>, String> {
    // The profiles of this workspace do not apply to packages, so a variable switches off the debug information.
    let names: String = published(workspace)
        .map(|it| format!(" --package {}", it.name))
        .collect();
    // Cargo keeps the packages of a target folder as those of a registry, whose versions never change. So in a used folder
    // it would compile packages with the code of an earlier run.
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let folder = format!("target/packages-{}", now.unwrap_or_default().as_nanos());
    let mut package = cargo_job(&format!(
        "package --allow-dirty --target-dir {folder}{names}"
    ));
    let remove = Job::new("rm", ["-r".to_owned(), folder]);
    package
        .env
        .push(("CARGO_PROFILE_DEV_DEBUG".to_owned(), "false".to_owned()));
    let alone = |member: &Member| {
        linted(cargo_job(&format!(
            "check --locked --tests --package {}",
            member.name
        )))
    };
    let members = workspace.members.iter().map(alone);
    let programs = readme(workspace)?;
    Ok(members.chain([package, remove]).chain(programs).collect())
}

/// Returns the commands in the README, which run a program of the workspace.
fn readme(workspace: &Workspace) -> Result<Vec<Job>, String> {
    let text = fs::read_to_string(workspace.root.join("README.md"))
        .map_err(|error| format!("README.md cannot be read: {error}"))?;
    let lines = commands(&text).map_err(|error| error.to_string())?;
    let jobs = lines.into_iter();
    Ok(jobs
        .map(|line| Job::new("sh", ["-c".to_owned(), line]))
        .collect())
}

fn published(workspace: &Workspace) -> impl Iterator<Item = &Member> {
    workspace.members.iter().filter(|it| it.publishable)
}

/// Makes clippy the compiler of the workspace, with warnings as errors. The compiled code can be run, so the workspace
/// is compiled once instead of twice.
fn linted(mut job: Job) -> Job {
    for (name, value) in CLIPPY {
        job.env.push((name.to_owned(), value.to_owned()));
    }
    job
}

fn step(name: &str, work: Work) -> Step {
    Step {
        name: name.to_owned(),
        work,
    }
}

fn cargo_job(words: &str) -> Job {
    Job::new(&cargo(), words.split_whitespace())
}

fn command(words: &str) -> Work {
    Work::Command(cargo_job(words))
}

fn tests(what: &str) -> Job {
    linted(cargo_job(&format!(
        "test --locked --workspace --exclude={BENCH} --all-features --no-fail-fast {what}"
    )))
}

fn docs(workspace: &Workspace) -> Work {
    let names: String = published(workspace)
        .map(|it| format!(" --package {}", it.name))
        .collect();
    let mut job = linted(cargo_job(&format!(
        "doc --locked --no-deps --all-features{names}"
    )));
    job.env
        .push(("RUSTDOCFLAGS".to_owned(), "-D warnings".to_owned()));
    Work::Command(job)
}
