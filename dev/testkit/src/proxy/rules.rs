//! The rules of a proxy.

use std::time::Duration;

use super::chaos::ChaosPlan;
use super::which::Which;
use crate::resp::Command;

/// A direction of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From clients to the server: requests.
    ToServer,
    /// From the server to clients: replies and pushes.
    ToClient,
}

/// What happens to all messages in a direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Traffic {
    /// They are forwarded immediately.
    #[default]
    Pass,
    /// They are forwarded in order after this delay.
    Delay(Duration),
    /// They are lost, including the end of the stream. Affected connections stay silent in this direction.
    Drop,
    /// They are held until [`Proxy::deliver_held`](super::Proxy::deliver_held).
    Hold,
}

/// The fault of a single request.
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
    /// Each push whose number is a multiple of this is lost; none if it is 0.
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

    /// Returns the fault of a request. The oldest matching fault is used.
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

    /// Returns whether a push is lost.
    pub(super) fn loses_push(&mut self) -> bool {
        self.pushes += 1;
        self.push_loss > 0 && self.pushes.is_multiple_of(self.push_loss)
    }

    /// Removes all rules that hold messages back.
    pub(super) fn let_go(&mut self) {
        self.faults.retain(|(fault, _)| *fault != Fault::Hold);
        for traffic in [&mut self.to_server, &mut self.to_client] {
            if *traffic == Traffic::Hold {
                *traffic = Traffic::Pass;
            }
        }
    }
}
