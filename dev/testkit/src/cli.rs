//! The command line of `cargo xtask`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line talks to the terminal"
)]

use std::process::ExitCode;

use crate::error::Error;
use crate::workspace::Workspace;
use crate::{explore, install, lint, minimal, suite, versions};

const USAGE: &str = "\
cargo xtask test               run every check and test
cargo xtask test --only NAME   run the steps whose name contains NAME
cargo xtask servers            install the servers of the tests; `cargo xtask test` does the same
cargo xtask lint               run the structure checks alone
cargo xtask explore            go deeper than the tests, with other random numbers; `--minutes N`, `--only NAME`
cargo xtask versions           run the tests of the backends with older and newer servers; `--only NAME`
cargo xtask settings           run the tests of the backends with other settings of the servers; `--only NAME`
cargo xtask minimal-versions   build the published crates with the oldest versions they allow";

/// The command in the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Print the usage text.
    Usage,
    /// Run the tests.
    Test {
        /// Runs only steps whose name contains this text. `None` runs all steps.
        only: Option<String>,
    },
    /// Run the explorations for longer than the tests do.
    Explore(explore::Options),
    /// Run the tests of the backends with other server versions.
    Versions {
        /// Runs only the versions whose name contains this text. `None` runs all of them.
        only: Option<String>,
    },
    /// Run the tests of the backends with other settings of the servers.
    Settings {
        /// Runs only the settings whose name contains this text. `None` runs all of them.
        only: Option<String>,
    },
    /// Install the servers of the tests.
    Servers,
    /// Run the structure checks.
    Lint,
    /// Check the published crates with their oldest allowed dependencies.
    MinimalVersions,
    /// Print how cargo would run a test binary. Only the test run uses this command: see [`suite::note`].
    Note {
        /// The command that cargo would run.
        command: Vec<String>,
    },
}

impl Command {
    /// Parses the arguments, without the program name.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Usage`] if the arguments are not a known command.
    pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let args: Vec<String> = args.into_iter().collect();
        let words: Vec<&str> = args.iter().map(String::as_str).collect();
        match words.as_slice() {
            [] | ["help" | "--help" | "-h"] => Ok(Self::Usage),
            ["test"] => Ok(Self::Test { only: None }),
            ["test", "--only", name] => Ok(Self::Test {
                only: Some((*name).to_owned()),
            }),
            ["test", "--only"] => Err(Error::Usage(format!("--only needs a NAME\n\n{USAGE}"))),
            ["explore", options @ ..] => Ok(Self::Explore(explore_options(options)?)),
            ["versions"] => Ok(Self::Versions { only: None }),
            ["versions", "--only", name] => Ok(Self::Versions {
                only: Some((*name).to_owned()),
            }),
            ["settings"] => Ok(Self::Settings { only: None }),
            ["settings", "--only", name] => Ok(Self::Settings {
                only: Some((*name).to_owned()),
            }),
            ["servers"] => Ok(Self::Servers),
            ["lint"] => Ok(Self::Lint),
            ["minimal-versions"] => Ok(Self::MinimalVersions),
            ["note", _, ..] => Ok(Self::Note {
                command: args[1..].to_vec(),
            }),
            other => Err(Error::Usage(format!(
                "unknown command `{}`\n\n{USAGE}",
                other.join(" ")
            ))),
        }
    }
}

/// Parses the options of `cargo xtask explore`.
fn explore_options(words: &[&str]) -> Result<explore::Options, Error> {
    match words {
        [] => Ok(explore::Options::default()),
        ["--minutes", minutes, rest @ ..] => {
            let number = minutes.parse().map_err(|_| {
                Error::Usage(format!(
                    "--minutes needs a number, not `{minutes}`\n\n{USAGE}"
                ))
            })?;
            let mut options = explore_options(rest)?;
            options.minutes = Some(number);
            Ok(options)
        }
        ["--only", name, rest @ ..] => {
            let mut options = explore_options(rest)?;
            options.only = Some((*name).to_owned());
            Ok(options)
        }
        other => Err(Error::Usage(format!(
            "unknown option `{}`\n\n{USAGE}",
            other.join(" ")
        ))),
    }
}

/// Executes the command in the arguments, and prints the result.
pub fn main(args: impl IntoIterator<Item = String>) -> ExitCode {
    let outcome = match Command::parse(args) {
        Ok(Command::Usage) => {
            println!("{USAGE}");
            Ok(true)
        }
        Ok(Command::Test { only }) => test(only.as_deref()),
        Ok(Command::Explore(options)) => explore::run(&options),
        Ok(Command::Versions { only }) => versions::run(&versions::ALL, only.as_deref()),
        Ok(Command::Settings { only }) => versions::run(&suite::SETTINGS, only.as_deref()),
        Ok(Command::Servers) => servers(),
        Ok(Command::Lint) => check_lint(),
        Ok(Command::MinimalVersions) => minimal_versions(),
        Ok(Command::Note { command }) => note(&command),
        Err(error) => Err(error),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn test(only: Option<&str>) -> Result<bool, Error> {
    let outcome = suite::run(only);
    match &outcome {
        Ok(_) | Err(Error::UnknownStep { .. }) => outcome,
        Err(error) => {
            eprintln!("error: {error}");
            // The last line always has this form.
            println!("0 passed, 1 failed");
            Ok(false)
        }
    }
}

fn note(command: &[String]) -> Result<bool, Error> {
    let line = suite::note(command).map_err(|source| Error::Run {
        command: command.join(" "),
        source,
    })?;
    println!("{line}");
    Ok(true)
}

fn servers() -> Result<bool, Error> {
    for found in install::ensure()? {
        println!("{found}");
    }
    Ok(true)
}

fn check_lint() -> Result<bool, Error> {
    let workspace = Workspace::read()?;
    let mut good = true;
    for check in lint::Check::ALL {
        let verdict = check.run(&workspace)?;
        println!("{}: {}", check.name(), verdict.word());
        for line in verdict.lines() {
            println!("    {line}");
        }
        good &= verdict.holds();
    }
    Ok(good)
}

fn minimal_versions() -> Result<bool, Error> {
    minimal::check(&Workspace::read()?, |line| println!("{line}"))
}
