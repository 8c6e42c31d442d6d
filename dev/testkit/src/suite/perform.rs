//! Executes a step.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::steps::{Step, Work};
use super::tally::Tally;
use super::{Binary, Counts, Job, Outcome, Ran, Variant, build, lanes};
use crate::error::Error;
use crate::install;
use crate::lint::Check;
use crate::workspace::Workspace;

/// The file with the checksum of the manifests with which their checks have last succeeded.
const CHECKED: &str = "dev/checked-manifests";

/// Executes a step. Calls `echo` with each line of the output of tests.
pub fn perform(step: &Step, workspace: &Workspace, echo: impl FnMut(&str)) -> Outcome {
    let begin = Instant::now();
    let outcome = match &step.work {
        Work::Command(job) => command(job, workspace),
        Work::Tests(job) => tests(job, workspace, echo),
        Work::Binaries {
            build,
            runner,
            installs_servers,
            variants,
        } => binaries(build, runner, *installs_servers, variants, workspace, echo),
        Work::Manifests(jobs) => manifests(jobs, workspace),
        Work::Lint(check) => lint(*check, workspace),
        Work::Impossible(why) => Ok(Outcome::of_single(vec![], vec![why.clone()], vec![])),
    };
    let mut outcome = outcome.unwrap_or_else(|error| {
        Outcome::of_single(Vec::new(), vec![error.to_string()], Vec::new())
    });
    outcome.name.clone_from(&step.name);
    outcome.took = begin.elapsed();
    outcome
}

fn command(job: &Job, workspace: &Workspace) -> Result<Outcome, Error> {
    let ran = job.run(&workspace.root, |_| {})?;
    let faults = failure(job, &ran);
    Ok(Outcome::of_single(Vec::new(), faults, ran.lines))
}

/// Runs the commands, unless the manifests are those with which they have last succeeded.
fn manifests(jobs: &[Job], workspace: &Workspace) -> Result<Outcome, Error> {
    let (file, now) = (workspace.root.join(CHECKED), checksum(workspace)?);
    if fs::read_to_string(&file).is_ok_and(|checked| checked.trim() == now) {
        let note = format!("no manifest has changed since `{CHECKED}` was written");
        return Ok(Outcome::of_single(vec![note], Vec::new(), Vec::new()));
    }
    let mut outcome = Outcome::default();
    for job in jobs {
        let ran = job.run(&workspace.root, |_| {})?;
        let faults = failure(job, &ran);
        let single = Outcome::of_single(Vec::new(), faults, ran.lines);
        outcome.passed += single.passed;
        outcome.failed += single.failed;
        outcome.faults.extend(single.faults);
        outcome.output.extend(single.output);
    }
    if outcome.holds() {
        fs::write(&file, now + "\n").map_err(|source| Error::Read { path: file, source })?;
        outcome
            .notes
            .push(format!("commit `{CHECKED}`, which has changed"));
    }
    Ok(outcome)
}

/// Returns a checksum of all manifests and the lock file.
fn checksum(workspace: &Workspace) -> Result<String, Error> {
    let members = workspace.members.iter().map(|it| it.dir.join("Cargo.toml"));
    let others = ["Cargo.toml", "Cargo.lock"].map(|it| workspace.root.join(it));
    let mut hasher = DefaultHasher::new();
    for path in members.chain(others) {
        let text = fs::read(&path).map_err(|source| Error::Read { path, source })?;
        hasher.write(&text);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn lint(check: Check, workspace: &Workspace) -> Result<Outcome, Error> {
    let verdict = check.run(workspace)?;
    Ok(Outcome::of_single(
        verdict.notes,
        verdict.faults,
        Vec::new(),
    ))
}

fn tests(job: &Job, workspace: &Workspace, echo: impl FnMut(&str)) -> Result<Outcome, Error> {
    let ran = job.run(&workspace.root, echo)?;
    let mut tally = Tally::default();
    tally.add(&quoted(job), "", &ran);
    Ok(tally.outcome())
}

fn binaries(
    job: &Job,
    runner: &str,
    installs_servers: bool,
    variants: &[Variant],
    workspace: &Workspace,
    mut echo: impl FnMut(&str),
) -> Result<Outcome, Error> {
    let mut tally = Tally::default();
    // The installation mostly waits for downloads.
    let installing = installs_servers.then(|| thread::spawn(install::ensure));
    let (mut found, faults) = build::run(job, runner, workspace, &mut echo)?;
    faults.into_iter().for_each(|fault| tally.fail(fault));
    match installing.map(JoinHandle::join) {
        Some(Ok(Ok(servers))) => servers.iter().for_each(|it| echo(it)),
        Some(Ok(Err(error))) => tally.fail(error.to_string()),
        Some(Err(_panic)) => tally.fail("the installation of the servers panicked".to_owned()),
        None => {}
    }
    let mut again = Vec::new();
    for variant in variants {
        for name in variant.binaries {
            match of_variant(variant, name, &found) {
                Ok(binary) => again.push(binary),
                Err(fault) => tally.fail(fault),
            }
        }
    }
    found.extend(again);
    let (begin, lanes) = (Instant::now(), lanes::count());
    let done = lanes::run(found, lanes, echo);
    let wall = begin.elapsed();
    for it in &done {
        let name = it.binary.name();
        tally.add(&name, &format!("{name}: "), &it.ran);
        let results: Vec<Counts> = it
            .ran
            .lines
            .iter()
            .filter_map(|it| Counts::of_line(it))
            .collect();
        if it.ran.failure.is_none() && results.is_empty() {
            tally.fail(format!("{name} ended without a result of its tests"));
        } else if it.binary.settings.is_some()
            && results.iter().all(|it| it.passed + it.failed == 0)
        {
            tally.fail(format!("{name} has no such test"));
        }
    }
    let mut outcome = tally.outcome();
    let alone: Duration = done.iter().map(|it| it.took).sum();
    outcome.notes.push(format!(
        "{} test binaries, {lanes} at once: {:.0} s for {:.0} s of theirs",
        done.len(),
        wall.as_secs_f64(),
        alone.as_secs_f64()
    ));
    Ok(outcome)
}

/// Returns the binary with this name as it runs the tests of a variant, or the fault if there is none.
fn of_variant(variant: &Variant, name: &str, binaries: &[Binary]) -> Result<Binary, String> {
    let binary = binaries.iter().find(|it| it.name() == name);
    let binary = binary.ok_or_else(|| format!("there is no test binary {name}"))?;
    Ok(Binary {
        settings: Some(variant.name),
        job: variant.tests(None, &binary.job),
        ..binary.clone()
    })
}

fn failure(job: &Job, ran: &Ran) -> Vec<String> {
    let line = |why: &String| format!("{} failed: {why}", quoted(job));
    ran.failure.iter().map(line).collect()
}

fn quoted(job: &Job) -> String {
    format!("`{}`", job.shown())
}
