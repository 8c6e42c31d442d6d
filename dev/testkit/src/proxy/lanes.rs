//! The four tasks of a connection. Each direction has one that reads and decides, and one that sends due messages.

use std::future::pending;

use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::expected::Exchange;
use super::gate::{Due, Ticket};
use super::judge::{Judge, Parcel, Ruling};
use super::link::Link;
use super::messages::Messages;
use crate::resp::Command;

/// A message or an end that waits to be sent.
#[derive(Debug)]
pub(super) enum Waiting {
    Message {
        bytes: Vec<u8>,
        /// Empty for messages of the server.
        command: Command,
        parcel: Parcel,
    },
    End(Due),
}

pub(super) type Sender = UnboundedSender<Waiting>;
pub(super) type Receiver = UnboundedReceiver<Waiting>;

/// Reads from the client, until it ends or is cut.
pub(super) async fn take_requests(link: &Link, from: OwnedReadHalf, queue: Sender) {
    let mut messages = Messages::of(from, link.shared.framing);
    let mut judge = Judge::new(&link.shared, 2 * link.number);
    loop {
        let message = tokio::select! {
            biased;
            () = link.knife.cancelled() => None,
            message = messages.next() => message,
        };
        let Some(bytes) = message else { break };
        let command = link.command(&bytes);
        let ruling = judge.request(&command);
        forward(link, &queue, ruling, bytes, command);
    }
    drop(messages);
    link.client_gone.cancel();
    match judge.end(true) {
        Some(due) => drop(queue.send(Waiting::End(due))),
        None => pending().await,
    }
}

/// Sends to the server, even if the client has disconnected.
pub(super) async fn send_requests(link: &Link, mut to: OwnedWriteHalf, mut queue: Receiver) {
    let mut mute = false;
    while let Some(waiting) = queue.recv().await {
        let (Waiting::Message {
            parcel: Parcel { due, .. },
            ..
        }
        | Waiting::End(due)) = &waiting;
        mute |= !link.shared.gate.pass(*due).await;
        match waiting {
            Waiting::Message { .. } if mute => {
                link.shared.count(|stats| stats.lost_requests += 1);
            }
            Waiting::End(_) if mute => {}
            Waiting::Message {
                bytes,
                command,
                parcel,
            } => {
                let exchange = Exchange {
                    then: parcel.then,
                    _ticket: let_go(parcel.ticket),
                };
                let _until_written = link.expected.lock().add(&command, exchange);
                link.shared
                    .count(|stats| stats.bytes_to_server += bytes.len() as u64);
                if to.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Waiting::End(_) => break,
        }
    }
    if mute {
        pending::<()>().await;
    }
}

/// Reads from the server, until it ends.
pub(super) async fn take_replies(link: &Link, from: OwnedReadHalf, queue: Sender) {
    let mut messages = Messages::of(from, link.shared.framing);
    let mut judge = Judge::new(&link.shared, 2 * link.number + 1);
    let nothing = Command::new::<&str>([]);
    while let Some(bytes) = messages.next().await {
        let (kind, exchange) = link.expect(&bytes);
        let ruling = judge.reply(kind, &exchange);
        forward(link, &queue, ruling, bytes, nothing.clone());
    }
    link.expected.lock().clear();
    match judge.end(false) {
        Some(due) => drop(queue.send(Waiting::End(due))),
        None => link.client_gone.cancelled().await,
    }
}

/// Sends to the client until it is cut. Afterwards discards all messages.
pub(super) async fn send_replies(link: &Link, mut to: OwnedWriteHalf, mut queue: Receiver) {
    let ended = tokio::select! {
        biased;
        () = link.knife.cancelled() => false,
        ended = send_until_end(link, &mut to, &mut queue) => ended,
    };
    drop(to);
    if !ended {
        while queue.recv().await.is_some() {}
    }
}

/// Returns `false` if the client cannot be written to.
async fn send_until_end(link: &Link, to: &mut OwnedWriteHalf, queue: &mut Receiver) -> bool {
    let mut mute = false;
    while let Some(waiting) = queue.recv().await {
        let (Waiting::Message {
            parcel: Parcel { due, .. },
            ..
        }
        | Waiting::End(due)) = &waiting;
        mute |= !link.shared.gate.pass(*due).await;
        match waiting {
            Waiting::Message { .. } if mute => {
                link.shared.count(|stats| stats.lost_replies += 1);
            }
            Waiting::End(_) if mute => {}
            Waiting::Message { bytes, parcel, .. } => {
                let _ticket = let_go(parcel.ticket);
                link.shared
                    .count(|stats| stats.bytes_to_client += bytes.len() as u64);
                if to.write_all(&bytes).await.is_err() {
                    return false;
                }
            }
            Waiting::End(_) => return true,
        }
    }
    link.client_gone.cancelled().await;
    true
}

fn forward(link: &Link, queue: &Sender, ruling: Ruling, bytes: Vec<u8>, command: Command) {
    let cuts = matches!(ruling, Ruling::Cut | Ruling::ForwardAndCut(_));
    if let Ruling::Forward(parcel) | Ruling::ForwardAndCut(parcel) = ruling {
        // If the receiver is dropped, that side has ended.
        drop(queue.send(Waiting::Message {
            bytes,
            command,
            parcel,
        }));
    }
    if cuts {
        link.knife.cancel();
    }
}

fn let_go(mut ticket: Option<Ticket>) -> Option<Ticket> {
    if let Some(ticket) = &mut ticket {
        ticket.let_go();
    }
    ticket
}
