//! `leasehold`: runs a command under a distributed lock, and shows and releases locks.
//!
//! `run` consists of two processes. The [holder](run::holder) acquires the lock, renews its lease and forwards signals.
//! The [supervisor](run::supervisor) is the parent of the command. It ends the command before the lease ends, even if
//! the holder is killed or stopped.

#[cfg(not(unix))]
compile_error!("leasehold-cli needs a Unix system: it uses process groups and signals");

mod args;
mod doctor;
mod exit_code;
mod held_locks;
mod list_as_table;
mod run;
mod stderr;

use std::io;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

use args::{Args, Command};
use stderr::print_error;

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) if error.use_stderr() => {
            print_error(error.render());
            return ExitCode::from(exit_code::FAILURE);
        }
        Err(help) => {
            // Help and version. A reader that closes the pipe early is not a failure.
            let _closed = help.print();
            return ExitCode::SUCCESS;
        }
    };
    match execute(args) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            print_error(format_args!("leasehold: {}\n", with_causes(&error)));
            ExitCode::from(exit_code::FAILURE)
        }
    }
}

fn execute(args: Args) -> anyhow::Result<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")?;
    runtime.block_on(async {
        match args.command {
            Command::Run(args) => run::holder::run(args).await,
            Command::Supervise(args) => run::supervisor::supervise(args).await,
            Command::Inspect(args) => until_closed(held_locks::inspect(args).await),
            Command::List(args) => until_closed(held_locks::list(args).await),
            Command::Watch(args) => until_closed(held_locks::watch(args).await),
            Command::Release(args) => until_closed(held_locks::release(args).await),
            Command::Doctor(args) => until_closed(doctor::doctor(args).await),
        }
    })
}

/// Returns success if the reader of the output has closed the pipe, as `head` does.
fn until_closed(result: anyhow::Result<u8>) -> anyhow::Result<u8> {
    result.or_else(|error| match error.downcast_ref::<io::Error>() {
        Some(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        _ => Err(error),
    })
}

/// Returns the text of an error and of its causes. A cause that the text before it ends with is left
/// out.
fn with_causes(error: &anyhow::Error) -> String {
    let mut texts: Vec<String> = error.chain().map(ToString::to_string).collect();
    texts.dedup_by(|cause, before| before.ends_with(&*cause));
    texts.join(": ")
}
