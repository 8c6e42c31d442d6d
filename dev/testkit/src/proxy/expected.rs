//! Matches replies with their requests.

use std::collections::VecDeque;

use super::gate::Ticket;
use crate::resp::Command;

/// The fate of a request's reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Then {
    #[default]
    Forward,
    Lose,
    Cut,
}

/// An outstanding reply.
#[derive(Debug, Default)]
pub(super) struct Exchange {
    pub(super) then: Then,
    /// Dropped when the reply has arrived.
    pub(super) _ticket: Option<Ticket>,
}

/// The outstanding replies on a connection, in the order of their requests.
#[derive(Debug, Default)]
pub(super) struct Expected {
    replies: VecDeque<Exchange>,
    subscribed: bool,
}

/// The kind of a message from the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A reply to a request.
    Reply,
    /// A push message.
    Push,
    /// The acknowledgement of a subscription. One request may cause many of them.
    Acknowledgement,
}

const SUBSCRIPTIONS: [&str; 6] = [
    "subscribe",
    "unsubscribe",
    "psubscribe",
    "punsubscribe",
    "ssubscribe",
    "sunsubscribe",
];
const PUSHES: [&[u8]; 3] = [b"message", b"pmessage", b"smessage"];

impl Expected {
    /// Adds a request. Returns its exchange if it will not get its own reply.
    pub(super) fn add(&mut self, command: &Command, exchange: Exchange) -> Option<Exchange> {
        let subscribes = SUBSCRIPTIONS.iter().any(|name| command.is(name));
        self.subscribed |= subscribes;
        if subscribes || command.words().is_empty() {
            return Some(exchange);
        }
        self.replies.push_back(exchange);
        None
    }

    /// Takes the exchange of a reply that has arrived.
    pub(super) fn take(&mut self) -> Exchange {
        self.replies.pop_front().unwrap_or_default()
    }

    /// Removes all outstanding replies.
    pub(super) fn clear(&mut self) {
        self.replies.clear();
    }

    /// Returns the kind of a message. In RESP2, an array may be a push.
    pub(super) fn kind(&self, frame: &[u8]) -> Kind {
        let is_push = frame.first() == Some(&b'>');
        let is_array = frame.first() == Some(&b'*');
        let may_be = is_push || (is_array && self.subscribed);
        if !may_be {
            return Kind::Reply;
        }
        let word = first_word(frame).unwrap_or_default();
        if SUBSCRIPTIONS.iter().any(|it| it.as_bytes() == word) {
            Kind::Acknowledgement
        } else if is_push || PUSHES.contains(&word) {
            Kind::Push
        } else {
            Kind::Reply
        }
    }
}

/// Returns the first text in an array or a push.
fn first_word(frame: &[u8]) -> Option<&[u8]> {
    let mut lines = frame.split(|&it| it == b'\n').skip(2);
    lines.next()?.strip_suffix(b"\r")
}
