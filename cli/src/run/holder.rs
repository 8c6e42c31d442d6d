//! The process that holds the lock and renews its lease.

use std::io;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use clap::ValueEnum;
use leasehold::{DEFAULT_BACKEND_RETRY_TIMEOUT, Error, LockGuard, LockManager, Lost};
use rustix::process::{Pid, Signal, getpgrp};
use tokio::time::{sleep, timeout};

use super::command_deadline::{Deadline, now};
use super::command_descendants::{Processes, adopt_orphans};
use super::holder_channel::{Channel, ToHolder, ToSupervisor, send_file};
use super::signals::{self, Signals};
use crate::args::{OnLoss, RunArgs};
use crate::stderr::{self, print_error};
use crate::{exit_code, with_causes};

/// How long the process waits for the confirmation of a release after a failure.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(2);

/// Acquires the lock, runs the command, and returns the exit code.
pub(crate) async fn run(args: RunArgs) -> anyhow::Result<u8> {
    let mut signals = Signals::listen().context("cannot receive signals")?;
    let of_signal = |signal: Signal| Ok(exit_code::of_signal(signal.as_raw()));
    let wait = wait(&args).unwrap_or(DEFAULT_BACKEND_RETRY_TIMEOUT);
    let locks = tokio::select! {
        signal = signals.next_ending() => return of_signal(signal),
        connected = args.connection.connect_within(wait, args.label.as_deref()) => connected?,
    };
    let ended = tokio::select! {
        signal = signals.next_ending() => of_signal(signal).map(|code| (code, None)),
        acquired = acquire(&locks, &args) => match acquired {
            Ok(guard) => hold(&args, guard, signals).await,
            Err(error) if error.is_busy() && args.skip => Ok((0, None)),
            Err(error) if error.is_busy() => Ok((args.conflict_exit_code, Some(error.to_string()))),
            Err(error) => Err(error.into()),
        },
    };
    // If the backend does not confirm a release in this time, the lock is free when its lease ends.
    let _unconfirmed = timeout(RELEASE_TIMEOUT, locks.shutdown()).await;
    let (code, problem) = ended?;
    if let Some(problem) = problem {
        print_error(format_args!("leasehold: {problem}\n"));
    }
    Ok(code)
}

async fn acquire(locks: &LockManager, args: &RunArgs) -> Result<LockGuard, Error> {
    let mut lock = locks.lock(&args.key).ttl(args.ttl).report_holder();
    if let Some(wait) = wait(args) {
        lock = lock.wait(wait);
    }
    if let Some(hold_at_least) = args.hold_at_least {
        lock = lock.hold_at_least(hold_at_least);
    }
    lock.acquire().await
}

/// Returns how long to wait for the lock.
fn wait(args: &RunArgs) -> Option<Duration> {
    args.wait.or(args.skip.then_some(Duration::ZERO))
}

/// How the command ended.
enum Outcome {
    /// By itself, with this exit code.
    Ended(u8),
    /// The supervisor ended it, because the lease was not renewed in time.
    NotRenewed,
    /// The holder killed it, because the lock was lost.
    Lost(Lost),
    /// The holder killed it, because the supervisor had ended.
    NoSupervisor,
    /// It could not be started.
    NotStarted(io::Error),
}

/// Runs the command while `guard` holds the lock. Returns the exit code and the problem to report.
async fn hold(
    args: &RunArgs,
    guard: LockGuard,
    mut signals: Signals,
) -> anyhow::Result<(u8, Option<String>)> {
    let supervisor = start_supervisor(args, &guard).context("cannot start the supervisor")?;
    let mut loss = None;
    let outcome = watch(args, &guard, supervisor, &mut signals, &mut loss).await;
    let (code, problem) = match outcome {
        Outcome::Ended(code) => match (loss, guard.release().await) {
            (None, Ok(())) => return Ok((code, None)),
            (Some(lost), _) | (None, Err(Error::Lost(lost))) => (
                exit_code::LOST,
                format!("{lost}; the command was not ended"),
            ),
            (None, Err(error)) => (code, with_causes(&error.into())),
        },
        Outcome::NotRenewed => {
            let remedy = "check the lock backend, or use a longer --ttl";
            let what = "the lease was not renewed in time, so the command was ended";
            (exit_code::LOST, format!("{what}; {remedy}"))
        }
        Outcome::Lost(lost) => (exit_code::LOST, format!("{lost}; the command was killed")),
        Outcome::NoSupervisor => {
            let what = "the supervisor process was killed, so the command was killed";
            (exit_code::FAILURE, what.to_owned())
        }
        Outcome::NotStarted(error) => {
            let program = args.command.first().map(|it| it.to_string_lossy());
            let program = program.as_deref().unwrap_or_default().escape_debug();
            let problem = format!("cannot execute `{program}`: {error}");
            (exit_code::of_start_error(&error), problem)
        }
    };
    Ok((code, Some(problem)))
}

fn start_supervisor(args: &RunArgs, guard: &LockGuard) -> io::Result<(Pid, Channel)> {
    adopt_orphans();
    let (ours, theirs) = UnixStream::pair()?;
    // An update may replace the file of this program while it runs.
    let program = match cfg!(target_os = "linux") {
        true => "/proc/self/exe".into(),
        false => std::env::current_exe()?,
    };
    let mut command = Command::new(program);
    command.arg0("leasehold-supervisor").arg("supervise");
    if let Some(on_loss) = args.on_loss.to_possible_value() {
        command.args(["--on-loss", on_loss.get_name()]);
    }
    if args.foreground {
        command.args(["--group", &getpgrp().as_raw_pid().to_string()]);
    }
    let supervisor = command
        .arg("--")
        .args(&args.command)
        .env("LEASEHOLD_KEY", &args.key)
        .env("LEASEHOLD_TOKEN", guard.token().to_string())
        .env_remove("LEASEHOLD_URL")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        // Signals of the terminal and of process managers do not reach it.
        .process_group(0)
        .spawn()?;
    send_file(&ours, io::stdin())?;
    Ok((Pid::from_child(&supervisor), Channel::new(ours)?))
}

/// Tells the supervisor about renewals, forwards signals, and returns how the command ended. Sets `loss` if the lock was
/// lost and the command continues.
async fn watch(
    args: &RunArgs,
    guard: &LockGuard,
    (supervisor, mut channel): (Pid, Channel),
    signals: &mut Signals,
    loss: &mut Option<Lost>,
) -> Outcome {
    let kill = args.on_loss == OnLoss::Kill;
    let mut processes = Processes {
        child: Some(supervisor),
        group: None,
    };
    let mut end_of_lease = pin!(guard.ended());
    let mut deadline = Deadline::of(|| guard.valid_for());
    let mut sent = channel.send(&ToSupervisor::Deadline(deadline));
    loop {
        // If the supervisor has ended, its last message says why.
        sent = sent.or_else(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Ok(()),
            _ => Err(error),
        });
        if sent.is_err() || (kill && now() >= deadline.last_kill_at()) {
            processes.kill().await;
            return match guard.is_valid() && sent.is_err() {
                true => Outcome::NoSupervisor,
                false => Outcome::NotRenewed,
            };
        }
        sent = tokio::select! {
            biased;
            message = channel.receive() => {
                match message {
                    Some(ToHolder::Started(pid)) if !args.foreground => processes.group = Pid::from_raw(pid),
                    Some(ToHolder::Started(_)) => {}
                    Some(ToHolder::StoppedByTerminal) => stderr::print_in_background(
                        "leasehold: the command was stopped, because it uses the terminal; run it with --foreground\n",
                    ),
                    Some(ToHolder::NotStarted(error)) => {
                        return Outcome::NotStarted(io::Error::from_raw_os_error(error));
                    }
                    Some(ToHolder::Ended { code, lost: false }) => return Outcome::Ended(code),
                    Some(ToHolder::Ended { lost: true, .. }) => return Outcome::NotRenewed,
                    None => {
                        processes.kill().await;
                        return Outcome::NoSupervisor;
                    }
                }
                Ok(())
            }
            ended = &mut end_of_lease, if loss.is_none() => {
                if kill {
                    processes.kill().await;
                    return Outcome::Lost(ended.into());
                }
                *loss = Some(ended.into());
                Ok(())
            }
            signal = signals.next() => match args.foreground && signals::FROM_TERMINAL.contains(&signal) {
                // The terminal sends these signals to the command, too.
                true => Ok(()),
                false => channel.send(&ToSupervisor::Signal(signal.as_raw())),
            },
            () = sleep(deadline.check_interval()) => {
                match deadline.renew(Deadline::of(|| guard.valid_for())) {
                    true => channel.send(&ToSupervisor::Deadline(deadline)),
                    false => Ok(()),
                }
            }
        };
    }
}
