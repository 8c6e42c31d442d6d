//! Runs seeds; see the documentation of the library.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::env;
use std::error::Error;
use std::process::ExitCode;
use std::time::Instant;

use leasehold_simulation::{USAGE, Wish, run_if_child, run_many, run_mistaken, run_one, wish};

fn main() -> ExitCode {
    if let Some((said, end)) = run_if_child() {
        print!("{said}");
        return end;
    }
    run().unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    let program = env::current_exe()?;
    match wish(lexopt::Parser::from_env())? {
        Wish::Help => println!("{USAGE}"),
        Wish::One(seed) => print!("{}", run_one(&program, seed)?),
        Wish::Many {
            from,
            seeds,
            mistake,
        } => {
            let started = Instant::now();
            let seeds = from..=from.saturating_add(seeds).saturating_sub(1);
            let report = match mistake {
                None => run_many(&program, seeds)?,
                Some(mistake) => run_mistaken(&program, seeds, mistake)?,
            };
            println!("{report}, {:.1?}", started.elapsed());
            if !report.failures.is_empty() {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}
