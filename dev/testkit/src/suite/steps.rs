//! The steps of a test run.

use std::fs;

use super::{Job, commands};
use crate::error::Error;
use crate::lint::Check;
use crate::workspace::{Member, Workspace, cargo};

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
    /// Finds or installs the servers of the tests.
    Servers,
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
    },
    /// Checks the structure.
    Lint(Check),
    /// Fails for a reason that was known before the run.
    Impossible(String),
}

/// Returns all steps in order. Steps that others need come first, and then steps that fail fast. For `runner` see
/// [`Work::Binaries`].
#[must_use]
pub fn all(workspace: &Workspace, runner: &str) -> Vec<Step> {
    let mut steps = vec![
        step("servers", Work::Servers),
        step("format", command("fmt --all --check")),
    ];
    for check in Check::ALL {
        steps.push(step(check.name(), Work::Lint(check)));
    }
    steps.push(step(
        "clippy, all features",
        clippy("--workspace --all-targets --all-features"),
    ));
    let published = workspace.members.iter().filter(|it| it.publishable);
    for member in published.clone().filter(|it| it.lib_target.is_some()) {
        steps.extend(each_feature(member));
    }
    steps.push(step("docs", docs()));
    steps.push(step("package", package(published)));
    let binaries = Work::Binaries {
        build: tests("--lib --bins --tests --examples"),
        runner: runner.to_owned(),
    };
    steps.push(step("tests", binaries));
    steps.push(step("doc tests", Work::Tests(tests("--doc"))));
    steps.extend(readme(workspace));
    steps
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

/// Checks a package without features, and then with each single feature.
fn each_feature(member: &Member) -> Vec<Step> {
    let package = &member.name;
    let bare = format!("--package {package} --no-default-features");
    let mut steps = vec![step(&format!("features: {package}, none"), clippy(&bare))];
    for feature in &member.features {
        let name = format!("features: {package}, {feature}");
        let with = format!("{bare} --features {feature}");
        steps.push(step(&name, clippy(&with)));
    }
    steps
}

/// Packages all published crates, and builds each package only from its packaged files. The profiles of this workspace do
/// not apply to that build, so a variable switches off the debug information.
fn package<'a>(published: impl Iterator<Item = &'a Member>) -> Work {
    let names: String = published
        .map(|it| format!(" --package {}", it.name))
        .collect();
    let mut job = cargo_job(&format!("package --allow-dirty{names}"));
    job.env
        .push(("CARGO_PROFILE_DEV_DEBUG".to_owned(), "false".to_owned()));
    Work::Command(job)
}

fn readme(workspace: &Workspace) -> Vec<Step> {
    let lines = fs::read_to_string(workspace.root.join("README.md"))
        .map_err(|error| format!("README.md cannot be read: {error}"))
        .and_then(|text| commands(&text).map_err(|error| error.to_string()));
    match lines {
        Ok(lines) => lines
            .into_iter()
            .map(|line| {
                let name = format!("readme: {line}");
                step(
                    &name,
                    Work::Command(Job::new("sh", ["-c".to_owned(), line])),
                )
            })
            .collect(),
        Err(why) => vec![step("readme", Work::Impossible(why))],
    }
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

fn clippy(what: &str) -> Work {
    command(&format!("clippy --locked {what} -- -D warnings"))
}

fn tests(what: &str) -> Job {
    cargo_job(&format!(
        "test --locked --workspace --all-features --no-fail-fast {what}"
    ))
}

fn docs() -> Work {
    let mut job = cargo_job("doc --locked --workspace --no-deps --all-features");
    job.env
        .push(("RUSTDOCFLAGS".to_owned(), "-D warnings".to_owned()));
    Work::Command(job)
}
