//! The list of steps.

use std::fs;

use leasehold_testkit::error::Error;
use leasehold_testkit::suite::steps::{self, Step, Work};

use crate::fake::{self, Outcome};

const RUNNER: &str = "/xtask";

/// Returns names and command lines of the steps of a workspace.
fn shown(steps: &[Step]) -> Vec<(&str, String)> {
    let line = |step: &Step| match &step.work {
        Work::Servers => "Servers".to_owned(),
        Work::Command(job) | Work::Tests(job) => job.shown(),
        Work::Binaries { build, runner } => format!("{runner} beside {}", build.shown()),
        Work::Lint(check) => format!("{check:?}"),
        Work::Impossible(why) => why.clone(),
    };
    steps
        .iter()
        .map(|step| (step.name.as_str(), line(step)))
        .collect()
}

#[test]
fn lists_every_step() -> Outcome {
    let dir = tempfile::tempdir()?;
    fs::write(
        dir.path().join("README.md"),
        "```sh\ncargo run --bin one\n```\n",
    )?;
    let steps = steps::all(&fake::workspace(dir.path()), RUNNER);
    let deny = "-- -D warnings";
    let tests = "cargo test --locked --workspace --all-features --no-fail-fast";
    let one = "cargo clippy --locked --package house --no-default-features";
    let expected = [
        ("servers", "Servers".to_owned()),
        ("format", "cargo fmt --all --check".to_owned()),
        ("lint: file sizes", "Sizes".to_owned()),
        ("lint: module circles", "Circles".to_owned()),
        ("lint: leftovers", "Leftovers".to_owned()),
        ("lint: guarantees", "Guarantees".to_owned()),
        ("lint: supply chain", "Supply".to_owned()),
        ("lint: public dependencies", "Api".to_owned()),
        ("lint: names", "Names".to_owned()),
        ("lint: links", "Links".to_owned()),
        (
            "clippy, all features",
            format!("cargo clippy --locked --workspace --all-targets --all-features {deny}"),
        ),
        ("features: house, none", format!("{one} {deny}")),
        (
            "features: house, default",
            format!("{one} --features default {deny}"),
        ),
        (
            "features: house, redis",
            format!("{one} --features redis {deny}"),
        ),
        (
            "docs",
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --locked --workspace --no-deps --all-features"
                .to_owned(),
        ),
        (
            "package",
            "CARGO_PROFILE_DEV_DEBUG=\"false\" cargo package --allow-dirty --package house"
                .to_owned(),
        ),
        (
            "tests",
            format!("/xtask beside {tests} --lib --bins --tests --examples"),
        ),
        ("doc tests", format!("{tests} --doc")),
        (
            "readme: cargo run --bin one",
            "sh -c 'cargo run --bin one'".to_owned(),
        ),
    ];
    assert_eq!(shown(&steps), expected);
    Ok(())
}

#[test]
fn what_is_not_published_has_no_feature_steps() -> Outcome {
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
fn only_selects_by_part_of_the_name() -> Outcome {
    let dir = tempfile::tempdir()?;
    let workspace = fake::workspace(dir.path());
    let chosen = steps::select(steps::all(&workspace, RUNNER), Some("lint:"))?;
    assert_eq!(chosen.len(), 8);
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
