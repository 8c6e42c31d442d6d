//! Doing one step.

use std::time::{Duration, Instant};

use super::steps::{Step, Work};
use super::{Counts, Job, Ran};
use crate::error::Error;
use crate::house::Check;
use crate::install;
use crate::workspace::Workspace;

/// How a step went.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The step's name.
    pub name: String,
    /// How long it took.
    pub took: Duration,
    /// What counts as passed: a step without tests is one.
    pub passed: u64,
    /// What counts as failed.
    pub failed: u64,
    /// What there is to say about it in any case.
    pub notes: Vec<String>,
    /// Why it failed.
    pub faults: Vec<String>,
    /// What its command printed, unless that was echoed.
    pub output: Vec<String>,
}

impl Outcome {
    /// Whether the step went well.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.failed == 0
    }

    fn of_single(notes: Vec<String>, faults: Vec<String>, output: Vec<String>) -> Self {
        let good = faults.is_empty();
        Self {
            passed: u64::from(good),
            failed: u64::from(!good),
            notes,
            faults,
            output,
            ..Self::default()
        }
    }
}

/// Does a step. The output of tests goes to `echo` line by line as it comes.
pub fn perform(step: &Step, workspace: &Workspace, echo: impl FnMut(&str)) -> Outcome {
    let begin = Instant::now();
    let outcome = match &step.work {
        Work::Servers => Ok(servers()),
        Work::Command(job) => command(job, workspace),
        Work::Tests(job) => tests(job, workspace, echo),
        Work::House(check) => house(*check, workspace),
        Work::Impossible(why) => Ok(Outcome::of_single(vec![], vec![why.clone()], vec![])),
    };
    let mut outcome = outcome.unwrap_or_else(|error| {
        Outcome::of_single(Vec::new(), vec![error.to_string()], Vec::new())
    });
    outcome.name.clone_from(&step.name);
    outcome.took = begin.elapsed();
    outcome
}

fn servers() -> Outcome {
    match install::ensure() {
        Ok(found) => Outcome::of_single(found, Vec::new(), Vec::new()),
        Err(error) => Outcome::of_single(Vec::new(), vec![error.to_string()], Vec::new()),
    }
}

fn command(job: &Job, workspace: &Workspace) -> Result<Outcome, Error> {
    let ran = job.run(&workspace.root, |_| {})?;
    let faults = failure(job, &ran);
    Ok(Outcome::of_single(Vec::new(), faults, ran.lines))
}

fn house(check: Check, workspace: &Workspace) -> Result<Outcome, Error> {
    let verdict = check.run(workspace)?;
    Ok(Outcome::of_single(
        verdict.notes,
        verdict.faults,
        Vec::new(),
    ))
}

fn tests(job: &Job, workspace: &Workspace, echo: impl FnMut(&str)) -> Result<Outcome, Error> {
    let ran = job.run(&workspace.root, echo)?;
    let counts = Counts::of_lines(ran.lines.iter().map(String::as_str));
    let mut faults = failure(job, &ran);
    let failed_tests = ran.lines.iter().filter_map(|it| Counts::failed_test(it));
    faults.extend(failed_tests.map(|name| format!("failed: {name}")));
    if counts.ignored > 0 {
        faults.push(format!(
            "{} tests are ignored: nothing is skipped silently, so make them run or delete them",
            counts.ignored
        ));
    }
    if counts.total() == 0 {
        faults.push("not one test ran".to_owned());
    }
    // A failure without a failed test, as when it does not compile, is one.
    let failed = (counts.failed + counts.ignored).max(u64::from(!faults.is_empty()));
    Ok(Outcome {
        passed: counts.passed,
        failed,
        notes: vec![format!("{} passed, {failed} failed", counts.passed)],
        faults,
        ..Outcome::default()
    })
}

fn failure(job: &Job, ran: &Ran) -> Vec<String> {
    let line = |why: &String| format!("`{}` failed: {why}", job.shown());
    ran.failure.iter().map(line).collect()
}
