#![allow(clippy::print_stderr, reason = "an example prints its results")]

use std::error::Error;
use std::process::ExitCode;

use crate::{BoxError, Chain};

/// Returns the exit code of a program, and prints its error with the causes.
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

/// Returns the exit code for invalid arguments, and prints the mistake and the usage.
#[must_use]
pub fn usage(mistake: &dyn Error, usage: &str) -> ExitCode {
    eprintln!("{mistake}\n\n{usage}");
    ExitCode::from(2)
}
