//! What a proxy has been told to do.

use std::time::Duration;

use super::chaos::ChaosPlan;
use super::which::Which;
use crate::resp::Command;

/// One of the two ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Requests.
    ToServer,
    /// Replies and pushes.
    ToClient,
}

/// What happens to all that comes in a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Traffic {
    /// It is forwarded at once.
    #[default]
    Pass,
    /// It is forwarded late by this, in order.
    Delay(Duration),
    /// It vanishes, the end of the stream too. The connections which this has
    /// happened to stay mute in this direction.
    Drop,
    /// It waits for [`Proxy::deliver_held`](super::Proxy::deliver_held).
    Hold,
}

/// What happens to a single request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    LoseReply,
    Hold,
    CutBefore,
    CutAfter,
}

#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) to_server: Traffic,
    pub(super) to_client: Traffic,
    faults: Vec<(Fault, Which)>,
    /// Every how many-th push is lost; none if 0.
    push_loss: u64,
    pushes: u64,
    pub(super) chaos: Option<(u64, ChaosPlan)>,
}

impl Rules {
    pub(super) fn set(&mut self, direction: Direction, traffic: Traffic) {
        match direction {
            Direction::ToServer => self.to_server = traffic,
            Direction::ToClient => self.to_client = traffic,
        }
    }

    pub(super) fn add(&mut self, fault: Fault, which: Which) {
        self.faults.push((fault, which));
    }

    /// What a request meets with. The oldest fault that is for it is used.
    pub(super) fn fault(&mut self, command: &Command) -> Option<Fault> {
        let mut faults = self.faults.iter_mut();
        let hit = faults.find_map(|(fault, which)| which.take(command).then_some(*fault));
        self.faults.retain(|(_, which)| !which.is_used_up());
        hit
    }

    pub(super) fn lose_pushes(&mut self, every: u64) {
        self.push_loss = every;
        self.pushes = 0;
    }

    /// Whether a push that has come is lost.
    pub(super) fn loses_push(&mut self) -> bool {
        self.pushes += 1;
        self.push_loss > 0 && self.pushes.is_multiple_of(self.push_loss)
    }

    /// Holds nothing back any more.
    pub(super) fn let_go(&mut self) {
        self.faults.retain(|(fault, _)| *fault != Fault::Hold);
        for traffic in [&mut self.to_server, &mut self.to_client] {
            if *traffic == Traffic::Hold {
                *traffic = Traffic::Pass;
            }
        }
    }
}
