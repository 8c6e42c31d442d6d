//! The parent of the command, which ends the command before the lease ends.
//!
//! The supervisor knows the [deadline](super::command_deadline) of the lease from the holder. If the holder is stopped, or cannot
//! renew the lease, no message moves the deadline. If the holder ends, the channel is closed.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, WaitStatus, kill_process, kill_process_group};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::command_deadline::{Deadline, now};
use super::command_descendants::{Processes, adopt_orphans};
use super::holder_channel::{Channel, ToHolder, ToSupervisor, receive_file};
use super::signals::{self, Signals};
use crate::args::{OnLoss, SuperviseArgs};
use crate::exit_code;

/// How long the processes that a command leaves have after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);

/// How often the deadline is checked. A timer does not advance while the machine is suspended, but the lease ends.
const CHECK: Duration = Duration::from_millis(200);

/// How often the end of the processes is checked after SIGTERM.
const CHECK_END: Duration = Duration::from_millis(5);

/// Runs a command for the holder, which is connected to the standard input.
pub(crate) async fn supervise(args: SuperviseArgs) -> anyhow::Result<u8> {
    // So a signal to all processes called `leasehold` does not end this one.
    #[cfg(target_os = "linux")]
    let _ignored = rustix::thread::set_name(c"lh-supervisor");
    adopt_orphans();
    // The supervisor ends with the command or after the holder, not by a signal.
    let mut ignored = Signals::listen().context("cannot receive signals")?;
    let mut children = signal(SignalKind::child()).context("cannot receive signals")?;
    let stream = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let input = receive_file(&stream).context("this command is only for `leasehold run`")?;
    let mut channel = Channel::new(stream)?;
    let Some(ToSupervisor::Deadline(deadline)) = channel.receive().await else {
        return Ok(exit_code::FAILURE);
    };
    let kill = args.on_loss == OnLoss::Kill;
    if kill && now() >= deadline.term_at() {
        // The holder was paused before. The lock may have another holder.
        let _ended = channel.send(&ToHolder::Ended {
            code: 0,
            lost: true,
        });
        return Ok(exit_code::LOST);
    }
    let command = match start(&args, input.into()) {
        Ok(command) => command,
        Err(error) => {
            let error = error.raw_os_error().unwrap_or_default();
            let _ended = channel.send(&ToHolder::NotStarted(error));
            return Ok(exit_code::FAILURE);
        }
    };
    let _ended = channel.send(&ToHolder::Started(command.as_raw_pid()));
    let mut supervision = Supervision {
        command,
        processes: Processes {
            child: Some(command),
            group: args.group.is_none().then_some(command),
        },
        deadline,
        kill,
        code: None,
        phase: Phase::Running,
    };
    let mut is_open = true;
    loop {
        if supervision.is_over(&mut channel) {
            return Ok(0);
        }
        let pause = supervision.advance();
        tokio::select! {
            message = channel.receive(), if is_open => match message {
                Some(ToSupervisor::Deadline(deadline)) => supervision.deadline = deadline,
                Some(ToSupervisor::Signal(signal)) => supervision.forward(signal),
                None => {
                    is_open = false;
                    supervision.holder_has_ended();
                }
            },
            _signal = children.recv() => {}
            _signal = ignored.next() => {}
            () = sleep(pause) => {}
        }
    }
}

fn start(args: &SuperviseArgs, input: Stdio) -> io::Result<Pid> {
    let (program, rest) = args.command.split_first().ok_or(io::ErrorKind::NotFound)?;
    let child = Command::new(program)
        .args(rest)
        .stdin(input)
        .process_group(args.group.unwrap_or_default())
        .spawn()?;
    Ok(Pid::from_child(&child))
}

/// A running command.
struct Supervision {
    command: Pid,
    processes: Processes,
    deadline: Deadline,
    /// Whether the command is ended before the lease ends.
    kill: bool,
    /// The exit code of the command, once it has ended.
    code: Option<u8>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Running,
    /// The processes have received SIGTERM, and receive SIGKILL at `kill_at`.
    Ending {
        kill_at: Duration,
        lost: bool,
    },
}

impl Supervision {
    /// Returns whether the command and all its processes have ended, and reports it.
    fn is_over(&mut self, channel: &mut Channel) -> bool {
        let (command, code) = (self.command, &mut self.code);
        let are_left = self.processes.reap(|pid, status| {
            if pid != command {
                return;
            }
            match status.stopping_signal() {
                Some(signal)
                    if [Signal::TTIN, Signal::TTOU]
                        .map(Signal::as_raw)
                        .contains(&signal) =>
                {
                    let _ended = channel.send(&ToHolder::StoppedByTerminal);
                }
                Some(_) => {}
                None => *code = Some(code_of(status)),
            }
        });
        let (Some(code), false) = (self.code, are_left) else {
            return false;
        };
        let lost = matches!(self.phase, Phase::Ending { lost: true, .. });
        let _ended = channel.send(&ToHolder::Ended { code, lost });
        true
    }

    /// Sends the signals that are due, and returns when to check again.
    fn advance(&mut self) -> Duration {
        let now = now();
        match self.phase {
            Phase::Running if self.code.is_some() => self.end(now + GRACE, false),
            Phase::Running if self.kill && now >= self.deadline.term_at() => {
                self.end(self.deadline.kill_at(), true);
            }
            Phase::Running => {
                let left = self.deadline.term_at().saturating_sub(now);
                return if self.kill { left.min(CHECK) } else { CHECK };
            }
            Phase::Ending { kill_at, .. } => {
                if now >= kill_at || (self.kill && now >= self.deadline.kill_at()) {
                    self.processes.signal(Signal::KILL);
                }
            }
        }
        CHECK_END
    }

    fn end(&mut self, kill_at: Duration, lost: bool) {
        self.processes.signal(Signal::TERM);
        // A stopped process receives the signal only when it continues.
        self.processes.signal(Signal::CONT);
        self.phase = Phase::Ending { kill_at, lost };
    }

    fn holder_has_ended(&mut self) {
        if self.kill && self.phase == Phase::Running {
            self.end(self.deadline.kill_at(), true);
        }
    }

    fn forward(&self, signal: i32) {
        // The id of a command that has ended may belong to another process.
        let Some(signal) = Signal::from_named_raw(signal).filter(|_| self.code.is_none()) else {
            return;
        };
        let then = signals::ENDING.contains(&signal).then_some(Signal::CONT);
        for signal in [Some(signal), then].into_iter().flatten() {
            let _ended = match self.processes.group {
                Some(group) => kill_process_group(group, signal),
                None => kill_process(self.command, signal),
            };
        }
    }
}

fn code_of(status: WaitStatus) -> u8 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => exit_code::of_signal(signal),
        (None, None) => exit_code::FAILURE,
    }
}
