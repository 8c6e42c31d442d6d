//! Holds back messages.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::stats::Stats;

/// When a message is forwarded.
#[derive(Debug, Clone, Copy)]
pub(super) enum Due {
    At(Instant),
    /// At the end of the hold with this number.
    AfterHold(usize),
}

/// The results of past holds: `true` if the messages were delivered, `false` if they were discarded.
#[derive(Debug, Default)]
pub(super) struct Gate(watch::Sender<Vec<bool>>);

impl Gate {
    /// Returns the number of the current or next hold.
    pub(super) fn hold(&self) -> usize {
        self.0.borrow().len()
    }

    pub(super) fn end_hold(&self, let_go: bool) {
        self.0.send_modify(|past| past.push(let_go));
    }

    /// Waits until a message is due. Returns `false` if it is discarded.
    pub(super) async fn pass(&self, due: Due) -> bool {
        match due {
            Due::At(moment) => {
                // Do not sleep for a past moment, because that would yield.
                if moment > Instant::now() {
                    sleep_until(moment).await;
                }
                true
            }
            Due::AfterHold(hold) => {
                let mut past = self.0.subscribe();
                let ended = past.wait_for(|past| past.len() > hold).await;
                ended.is_ok_and(|past| past[hold])
            }
        }
    }
}

/// Counts a message that was held back, until it is answered or can no longer be answered.
#[derive(Debug)]
pub(super) struct Ticket {
    stats: Arc<watch::Sender<Stats>>,
    let_go: bool,
}

impl Ticket {
    pub(super) fn new(stats: &Arc<watch::Sender<Stats>>) -> Self {
        stats.send_modify(|stats| stats.held += 1);
        Self {
            stats: Arc::clone(stats),
            let_go: false,
        }
    }

    pub(super) fn let_go(&mut self) {
        self.let_go = true;
        self.stats.send_modify(|stats| {
            stats.held -= 1;
            stats.delivering += 1;
        });
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let let_go = self.let_go;
        self.stats.send_modify(|stats| {
            let counter = match let_go {
                true => &mut stats.delivering,
                false => &mut stats.held,
            };
            *counter = counter.saturating_sub(1);
        });
    }
}
