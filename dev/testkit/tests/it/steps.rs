//! The list of steps.

use std::fs;

use leasehold_testkit::error::Error;
use leasehold_testkit::suite::Job;
use leasehold_testkit::suite::steps::{self, Step, Work};

use crate::fake::{self, Outcome};

const RUNNER: &str = "/xtask";

/// Returns names and command lines of the steps of a workspace.
fn shown(steps: &[Step]) -> Vec<(&str, String)> {
    let line = |step: &Step| match &step.work {
        Work::Command(job) | Work::Tests(job) => job.shown(),
        Work::Binaries { build, runner, .. } => format!("{runner} beside {}", build.shown()),
        Work::Lint(check) => format!("{check:?}"),
        Work::Manifests(jobs) => {
            let lines: Vec<String> = jobs.iter().map(Job::shown).collect();
            // Each list has its own folder for the packages.
            let words = lines.join("; ");
            let words = words
                .split(' ')
                .map(|word| match word.split_once("target/packages-") {
                    Some((before, number)) => {
                        let after = number.trim_start_matches(|it: char| it.is_ascii_digit());
                        format!("{before}PACKAGES{after}")
                    }
                    None => word.to_owned(),
                });
            words.collect::<Vec<_>>().join(" ")
        }
        Work::Impossible(why) => why.clone(),
    };
    steps
        .iter()
        .map(|step| (step.name.as_str(), line(step)))
        .collect()
}

#[test]
fn all_steps_of_a_workspace_are_listed() -> Outcome {
    let dir = tempfile::tempdir()?;
    fs::write(
        dir.path().join("README.md"),
        "```sh\ncargo run --bin one\n```\n",
    )?;
    let steps = steps::all(&fake::workspace(dir.path()), RUNNER);
    let clippy = "RUSTC_WORKSPACE_WRAPPER=\"clippy-driver\" CLIPPY_ARGS=\"-Dwarnings__CLIPPY_HACKERY__\" \
         CARGO_PROFILE_DEV_DEBUG=\"false\"";
    let tests = format!(
        "{clippy} cargo test --locked --workspace --exclude=leasehold-bench --all-features --no-fail-fast"
    );
    let one = format!("{clippy} cargo check --locked --package house --no-default-features");
    let expected = [
        ("format", "cargo fmt --all --check".to_owned()),
        ("lint: file sizes", "Sizes".to_owned()),
        ("lint: module circles", "Circles".to_owned()),
        ("lint: guarantees", "Guarantees".to_owned()),
        (
            "lint: dependencies between crates",
            "Dependencies".to_owned(),
        ),
        ("lint: public dependencies", "Api".to_owned()),
        (
            "clippy and tests",
            format!("/xtask beside {tests} --tests --examples"),
        ),
        ("doc tests", format!("{tests} --doc")),
        (
            "docs",
            format!(
                "{clippy} RUSTDOCFLAGS=\"-D warnings\" \
                 cargo doc --locked --no-deps --all-features --package house"
            ),
        ),
        ("features: house, none", format!("{one} --features=")),
        ("features: house, redis", format!("{one} --features=redis")),
        (
            "benchmarks",
            format!(
                "{clippy} cargo check --locked --package leasehold-bench --all-targets \
                 --all-features"
            ),
        ),
        (
            "manifests",
            format!(
                "{clippy} cargo check --locked --tests --package house; \
                 CARGO_PROFILE_DEV_DEBUG=\"false\" cargo package --allow-dirty --target-dir PACKAGES --package house; \
                 rm -r PACKAGES; \
                 sh -c 'cargo run --bin one'"
            ),
        ),
    ];
    assert_eq!(shown(&steps), expected);
    Ok(())
}

#[test]
fn unpublished_member_has_no_feature_steps() -> Outcome {
    let dir = tempfile::tempdir()?;
    let mut workspace = fake::workspace(dir.path());
    workspace.members[0].publishable = false;
    let steps = steps::all(&workspace, RUNNER);
    assert!(steps.iter().all(|step| !step.name.contains("features:")));
    Ok(())
}

#[test]
fn a_readme_without_commands_fails() -> Outcome {
    let dir = tempfile::tempdir()?;
    let workspace = fake::workspace(dir.path());
    let last = |steps: Vec<Step>| steps.into_iter().next_back().map(|step| step.work);

    let missing = last(steps::all(&workspace, RUNNER));
    let Some(Work::Impossible(why)) = missing else {
        return Err(format!("a missing README is no failure: {missing:?}").into());
    };
    assert!(why.starts_with("README.md cannot be read"), "{why}");

    fs::write(dir.path().join("README.md"), "# House\n")?;
    let empty = last(steps::all(&workspace, RUNNER));
    let Some(Work::Impossible(why)) = empty else {
        return Err(format!("a README without commands is no failure: {empty:?}").into());
    };
    assert!(why.starts_with("README.md has no line"), "{why}");
    Ok(())
}

#[test]
fn only_option_selects_steps_by_part_of_their_name() -> Outcome {
    let dir = tempfile::tempdir()?;
    let workspace = fake::workspace(dir.path());
    let chosen = steps::select(steps::all(&workspace, RUNNER), Some("lint:"))?;
    assert_eq!(chosen.len(), 5);
    let all = steps::all(&workspace, RUNNER);
    assert_eq!(steps::select(all.clone(), None)?, all);

    let unknown = steps::select(all, Some("nothing"));
    let Err(Error::UnknownStep { wanted, known }) = unknown else {
        return Err(format!("no error: {unknown:?}").into());
    };
    assert_eq!(wanted, "nothing");
    assert!(known.contains(&"doc tests".to_owned()), "{known:?}");
    Ok(())
}
