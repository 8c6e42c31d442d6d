//! Concurrent test binaries. Shell scripts replace cargo and the built binaries.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

use leasehold_testkit::suite::steps::{Step, Work};
use leasehold_testkit::suite::{self, Job, TOGETHER, Variant, perform};
use leasehold_testkit::workspace::cargo;
use tempfile::TempDir;

use crate::fake::{self, Outcome};

/// The output of a successful test binary.
const GOOD: &str = "echo; echo 'test result: ok. 3 passed; 0 failed; 0 ignored'";

/// Returns the outcome of a step with this `cargo test` command, and the echoed lines.
fn done(build: Job, root: &Path) -> (suite::Outcome, Vec<String>) {
    done_with(&[], build, root)
}

/// Like [`done`], with these variants.
fn done_with(
    variants: &'static [Variant],
    build: Job,
    root: &Path,
) -> (suite::Outcome, Vec<String>) {
    let step = Step {
        name: "it".to_owned(),
        work: Work::Binaries {
            build,
            runner: env!("CARGO_BIN_EXE_xtask").to_owned(),
            installs_servers: false,
            variants,
        },
    };
    let mut echoed = Vec::new();
    let echo = |line: &str| echoed.push(line.to_owned());
    let outcome = perform(&step, &fake::workspace(root), echo);
    (outcome, echoed)
}

/// Returns the outcome of a step that builds these scripts, each in a package. They run in a temporary folder.
fn beside(scripts: &[(&str, &str)]) -> std::io::Result<(suite::Outcome, Vec<String>)> {
    beside_in("", scripts)
}

/// Like [`beside`], with these variables.
fn beside_in(
    variables: &str,
    scripts: &[(&str, &str)],
) -> std::io::Result<(suite::Outcome, Vec<String>)> {
    beside_with(&[], variables, scripts)
}

fn beside_with(
    variants: &'static [Variant],
    variables: &str,
    scripts: &[(&str, &str)],
) -> std::io::Result<(suite::Outcome, Vec<String>)> {
    let dir = TempDir::new()?;
    let mut build = "echo Compiling\n".to_owned();
    for (number, (name, script)) in scripts.iter().enumerate() {
        let (package, target) = name.split_once(' ').unwrap_or((name, "it"));
        let path = dir.path().join(format!("{target}-{number}"));
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&path, Permissions::from_mode(0o755))?;
        // The lines that cargo prints for the binary.
        build += &format!("echo '     Running {target}'\n");
        build += &format!(
            "env -u RUST_TEST_THREADS {variables} CARGO_PKG_NAME={package} '{}' note '{}'\n",
            env!("CARGO_BIN_EXE_xtask"),
            path.display()
        );
    }
    let build = Job::new("sh", ["-c", &build]);
    Ok(done_with(variants, build, dir.path()))
}

#[test]
fn output_of_each_binary_is_echoed_and_its_results_are_summed() -> Outcome {
    let (outcome, echoed) = beside(&[("house one", GOOD), ("house two", GOOD)])?;
    assert!(outcome.holds(), "{outcome:?}");
    assert_eq!((outcome.passed, outcome.failed), (6, 0));
    assert_eq!(echoed[0], "Compiling");
    // Each binary has a result and an end. The lines in which cargo describes it are not echoed.
    assert_eq!(echoed.len(), 5, "{echoed:#?}");
    for name in ["[house one] ", "[house two] "] {
        let own = echoed.iter().filter_map(|line| line.strip_prefix(name));
        let own: Vec<&str> = own.collect();
        assert!(own[0].starts_with("test result: "), "{own:?}");
        assert!(own[1].starts_with("ok "), "{own:?}");
    }
    Ok(())
}

#[test]
fn a_failed_test_is_named_with_its_binary() -> Outcome {
    let failing = "echo 'test a::b ... FAILED'
        echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101";
    let (outcome, echoed) = beside(&[("house good", GOOD), ("house bad", failing)])?;
    assert_eq!((outcome.passed, outcome.failed), (4, 1));
    assert_eq!(
        outcome.faults,
        [
            "house bad failed: exit status: 101",
            "failed: house bad: a::b"
        ]
    );
    assert!(
        echoed
            .iter()
            .any(|it| it.starts_with("[house bad] FAILED "))
    );
    Ok(())
}

#[test]
fn killed_binary_fails_and_the_others_pass() -> Outcome {
    let dead = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; kill -9 $$";
    let (outcome, _) = beside(&[("house dead", dead), ("house good", GOOD)])?;
    assert_eq!((outcome.passed, outcome.failed), (4, 1));
    assert_eq!(outcome.faults, ["house dead failed: signal: 9 (SIGKILL)"]);
    Ok(())
}

#[test]
fn a_binary_without_a_result_fails() -> Outcome {
    let (outcome, _) = beside(&[("house mute", "exit 0"), ("house good", GOOD)])?;
    assert_eq!((outcome.passed, outcome.failed), (3, 1));
    assert_eq!(
        outcome.faults,
        ["house mute ended without a result of its tests"]
    );
    Ok(())
}

#[test]
fn a_binary_that_does_not_start_fails() -> Outcome {
    let dir = TempDir::new()?;
    let script = format!(
        "CARGO_PKG_NAME=house '{}' note /no/such/gone-1",
        env!("CARGO_BIN_EXE_xtask")
    );
    let (outcome, _) = done(Job::new("sh", ["-c", &script]), dir.path());
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    let fault = &outcome.faults[0];
    assert!(
        fault.starts_with("house gone failed: cannot run"),
        "{fault}"
    );
    Ok(())
}

#[test]
fn ignored_tests_count_as_failed() -> Outcome {
    let ignoring = "echo 'test result: ok. 3 passed; 0 failed; 2 ignored'";
    let (outcome, _) = beside(&[("house it", ignoring), ("house good", GOOD)])?;
    assert_eq!((outcome.passed, outcome.failed), (6, 2));
    assert!(outcome.faults[0].starts_with("2 tests are ignored"));
    Ok(())
}

#[test]
fn build_without_test_binaries_fails() -> Outcome {
    let dir = TempDir::new()?;
    // This happens if another runner has run the binaries.
    let (outcome, _) = done(Job::new("sh", ["-c", GOOD]), dir.path());
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    assert!(outcome.faults[0].starts_with("cargo told of no test binary"));
    Ok(())
}

#[test]
fn failed_build_is_reported_with_its_command_line() -> Outcome {
    let dir = TempDir::new()?;
    let build = Job::new("sh", ["-c", "echo error; exit 101"]);
    let (outcome, echoed) = done(build, dir.path());
    assert_eq!((outcome.passed, outcome.failed), (0, 1));
    let fault = "`sh -c 'echo error; exit 101'` failed: exit status: 101";
    assert_eq!(outcome.faults, [fault]);
    assert_eq!(echoed, ["error"]);
    Ok(())
}

/// Waits for a file that another script creates, for at most ten seconds.
fn meet(own: &str, other: &str) -> String {
    format!(
        "touch {own}; n=0
         until [ -e {other} ]; do n=$((n+1)); [ $n -lt 1000 ] || exit 1; sleep 0.01; done
         {GOOD}"
    )
}

#[test]
fn two_binaries_run_concurrently() -> Outcome {
    let (one, two) = (meet("one", "two"), meet("two", "one"));
    let (outcome, _) = beside(&[("house one", &one), ("house two", &two)])?;
    assert!(outcome.holds(), "{outcome:?}");
    Ok(())
}

/// Fails if more than `most` of these scripts run concurrently.
fn counted(most: usize) -> String {
    format!(
        "touch $0.runs; [ $(ls *.runs | wc -l) -le {most} ] || exit 1; sleep 0.1; rm $0.runs
         {GOOD}"
    )
}

#[test]
fn number_of_concurrent_binaries_is_limited() -> Outcome {
    let lanes = thread::available_parallelism()?.get() + 1;
    let script = counted(lanes);
    let (outcome, _) = beside(&vec![("house", script.as_str()); 3 * lanes])?;
    assert!(outcome.holds(), "{outcome:?}");
    assert_eq!(outcome.passed, 9 * lanes as u64);
    Ok(())
}

#[test]
fn binary_gets_more_test_threads_than_cores_unless_the_caller_sets_them() -> Outcome {
    let script = format!("echo \"threads: $RUST_TEST_THREADS\"\n{GOOD}");
    for (variables, threads) in [("", 6), ("RUST_TEST_THREADS=3", 3)] {
        let (outcome, echoed) = beside_in(variables, &[("house", &script)])?;
        assert!(outcome.holds(), "{outcome:?}");
        let line = format!("[house it] threads: {threads}");
        assert!(echoed.contains(&line), "{echoed:#?}");
    }
    Ok(())
}

#[test]
fn tests_of_a_variant_run_once_more_with_its_settings() -> Outcome {
    let script = format!("echo \"$LEASEHOLD_POSTGRES_SETTINGS: $*\" | tr '\\n' ' '\n{GOOD}");
    let scripts: [(&str, &str); 2] = [
        ("leasehold-sql it", &script),
        ("leasehold-sqlx it", &script),
    ];
    let (outcome, echoed) = beside_with(&TOGETHER[..1], "", &scripts)?;
    assert!(outcome.holds(), "{outcome:?}");
    assert_eq!(outcome.passed, 12);
    let again = "[leasehold-sqlx it, Postgres, settings together] -c ";
    let again = echoed.iter().find_map(|line| line.strip_prefix(again));
    assert!(again.unwrap().contains(": postgres::plain"), "{echoed:#?}");
    Ok(())
}

#[test]
fn a_variant_without_its_binary_or_without_tests_fails() -> Outcome {
    let (outcome, _) = beside_with(&TOGETHER[..1], "", &[("house it", GOOD)])?;
    assert_eq!(
        outcome.faults,
        [
            "there is no test binary leasehold-sql it",
            "there is no test binary leasehold-sqlx it"
        ]
    );
    let empty = "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'";
    let (outcome, _) = beside_with(&TOGETHER[..1], "", &[("leasehold-sqlx it", empty)])?;
    let fault = "leasehold-sqlx it, Postgres, settings together has no such test";
    assert!(outcome.faults.contains(&fault.to_owned()), "{outcome:?}");
    Ok(())
}

#[test]
fn binary_does_not_inherit_clippy_as_its_compiler() -> Outcome {
    let script = format!("echo \"compiler: $RUSTC_WORKSPACE_WRAPPER$CLIPPY_ARGS\"\n{GOOD}");
    let clippy = "RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings";
    let (outcome, echoed) = beside_in(clippy, &[("house", &script)])?;
    assert!(outcome.holds(), "{outcome:?}");
    assert!(
        echoed.contains(&"[house it] compiler: ".to_owned()),
        "{echoed:#?}"
    );
    Ok(())
}

#[test]
fn binary_gets_the_environment_and_directory_of_cargo() -> Outcome {
    let dir = TempDir::new()?;
    let package = dir.path().join("house");
    fs::create_dir_all(package.join("tests"))?;
    fs::create_dir_all(package.join("src"))?;
    let write = |path: &str, text: &str| fs::write(dir.path().join(path), text);
    write(
        "Cargo.toml",
        "[workspace]\nresolver = \"3\"\nmembers = [\"house\"]\n",
    )?;
    // Its own tests need the libraries of the compiler.
    write(
        "house/Cargo.toml",
        "[package]\nname = \"house\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n",
    )?;
    write("house/src/lib.rs", "#[test]\nfn own() {}\n")?;
    write(
        "house/tests/told.rs",
        r#"#[test]
        fn told() {
            let told = std::env::var("CARGO_MANIFEST_DIR").unwrap();
            assert_eq!(told, env!("CARGO_MANIFEST_DIR"));
            assert_eq!(std::env::current_dir().unwrap(), std::path::Path::new(&told));
        }"#,
    )?;
    let mut build = Job::new(&cargo(), ["test", "--offline", "--workspace", "--tests"]);
    let target = dir.path().join("target").to_string_lossy().into_owned();
    build.env.push(("CARGO_TARGET_DIR".to_owned(), target));
    let (outcome, echoed) = done(build, dir.path());
    assert!(outcome.holds(), "{outcome:?}\n{echoed:#?}");
    assert_eq!(outcome.passed, 2);
    for line in [
        "[house house] test own ... ok",
        "[house told] test told ... ok",
    ] {
        assert!(echoed.iter().any(|it| it == line), "{echoed:#?}");
    }
    Ok(())
}

#[test]
fn binary_with_an_unreadable_description_fails() -> Outcome {
    for note in [
        "",
        "{}",
        r#"{"command":[],"dir":"/","env":{"CARGO_PKG_NAME":"house"}}"#,
        r#"{"command":["/deps/it-1"],"dir":"/","env":{}}"#,
    ] {
        let script = format!("echo 'leasehold-test-binary {note}'");
        let (outcome, echoed) = done(Job::new("sh", ["-c", &script]), Path::new("/"));
        assert_eq!((outcome.passed, outcome.failed), (0, 2), "{note}");
        assert!(outcome.faults[0].starts_with("a test binary did not run"));
        assert_eq!(echoed, [""; 0]);
    }
    Ok(())
}
