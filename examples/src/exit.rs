#![allow(clippy::print_stderr, reason = "an example talks to its reader")]

use std::error::Error;
use std::process::ExitCode;

use crate::{BoxError, Chain};

/// How a program ends: what went wrong is said with its causes.
#[must_use]
pub fn ended(outcome: Result<(), BoxError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}", Chain(error.as_ref()));
            ExitCode::FAILURE
        }
    }
}

/// How a program ends that was called with what it does not know.
#[must_use]
pub fn usage(mistake: &dyn Error, usage: &str) -> ExitCode {
    eprintln!("{mistake}\n\n{usage}");
    ExitCode::from(2)
}
