//! The signals that this process receives instead of being ended by them.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use rustix::process::Signal;
use tokio::signal::unix::{self, SignalKind};

/// The signals that ask a process to end.
pub(super) const ENDING: [Signal; 4] = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];

/// The signals that a terminal sends to all processes in the foreground.
pub(super) const FROM_TERMINAL: [Signal; 4] =
    [Signal::INT, Signal::QUIT, Signal::WINCH, Signal::CONT];

/// Receives signals.
#[derive(Debug)]
pub(super) struct Signals {
    receivers: Vec<(Signal, unix::Signal)>,
}

impl Signals {
    /// Receives the signals that concern a command. A signal that this process ignores, as under `nohup`, stays ignored,
    /// so the command ignores it too.
    pub(super) fn listen() -> io::Result<Self> {
        let others = [Signal::USR1, Signal::USR2, Signal::WINCH, Signal::CONT];
        let ignored = ignored();
        let mut receivers = Vec::new();
        for signal in ENDING.into_iter().chain(others) {
            if ignored & (1 << (signal.as_raw() - 1)) == 0 {
                let kind = SignalKind::from_raw(signal.as_raw());
                receivers.push((signal, unix::signal(kind)?));
            }
        }
        Ok(Self { receivers })
    }

    /// Returns the next signal.
    pub(super) async fn next(&mut self) -> Signal {
        poll_fn(|cx| {
            for (signal, receiver) in &mut self.receivers {
                if receiver.poll_recv(cx).is_ready() {
                    return Poll::Ready(*signal);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Returns the next signal that asks this process to end.
    pub(super) async fn next_ending(&mut self) -> Signal {
        loop {
            let signal = self.next().await;
            if ENDING.contains(&signal) {
                return signal;
            }
        }
    }
}

/// Returns the signals that this process ignores, as a mask. It is zero on systems other than Linux.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
