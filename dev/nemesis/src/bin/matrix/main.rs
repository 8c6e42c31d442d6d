//! Runs the matrix of faults: see the library.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that prints"
)]

mod args;

use std::process::ExitCode;
use std::time::Instant;

use leasehold_nemesis::run::Progress;
use leasehold_nemesis::{BoxError, plan, report, run, worker};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::{LocalSet, spawn_local};

use self::args::{Settings, USAGE, Wish};

#[tokio::main]
async fn main() -> ExitCode {
    let done = match args::wish(lexopt::Parser::from_env()) {
        Ok(Wish::Run(settings)) => LocalSet::new().run_until(matrix(settings)).await,
        Ok(Wish::Work(orders)) => worker::work(&orders).await.map(|()| true),
        Ok(Wish::Help) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => Err(format!("{error}\n{USAGE}").into()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs all cells, and returns whether all guarantees hold.
async fn matrix(settings: Settings) -> Result<bool, BoxError> {
    let Settings {
        wanted,
        at_once,
        json,
    } = settings;
    let cells = plan::cells(&wanted);
    if cells.is_empty() {
        return Err(format!("no cell has such a name\n{USAGE}").into());
    }
    let (count, begin) = (cells.len(), Instant::now());
    if !json {
        println!("{count} cells, seed {}\n{}", wanted.seed, report::head());
    }
    let (tell, mut told) = unbounded_channel();
    let running = spawn_local(run::all(cells, at_once, tell));
    let mut wrong = Vec::new();
    while let Some(it) = told.recv().await {
        match it {
            Progress::Started(kind) => {
                eprintln!("{:6.1}s {kind} is up", begin.elapsed().as_secs_f64());
            }
            Progress::Cell(verdict) => {
                match json {
                    true => println!("{}", report::object(&verdict)),
                    false => println!("{}", report::line(&verdict)),
                }
                let found = report::faults(&verdict);
                found.iter().for_each(|it| eprintln!("  {it}"));
                wrong.extend(found);
            }
            Progress::End(kind, Ok(after)) => {
                eprintln!(
                    "{kind}: all locks free and nothing left, {:.1}s after",
                    after.as_secs_f64()
                );
            }
            Progress::End(kind, Err(why)) => {
                eprintln!("  {kind}: {why}");
                wrong.push(format!("{kind}: {why}"));
            }
        }
    }
    running.await??;
    let took = begin.elapsed().as_secs_f64();
    if !json {
        println!("{count} cells in {took:.0} s, {} things wrong", wrong.len());
        wrong.iter().for_each(|it| println!("  {it}"));
    }
    Ok(wrong.is_empty())
}
