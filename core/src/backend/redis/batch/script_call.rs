//! One script call that carries many requests, and the reply to each.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use redis::{Cmd, Value};
use tokio::select;
use tokio::sync::oneshot;

use crate::backend::redis::client::ServerClient;
use crate::backend::redis::error::is_of_a_cluster;
use crate::backend::redis::protocol::acquire_command::{AcquireCommand, ClientContext};
use crate::backend::redis::protocol::release_command::ReleaseCommand;
use crate::backend::redis::protocol::reply::{
    self, AcquireOutcome, AcquireReply, HandoffOutcome, ReleaseReply,
};
use crate::backend::{Applied, BackendError};

/// How many requests one call carries at most: a server does nothing else while it carries them out.
pub(super) const MOST: usize = 32;

/// From how many requests on it is cheaper for the server to look at them together.
pub(super) const LEAST: usize = 3;

/// What one who asked with others is told; none if it is to ask alone, for nothing was done.
pub(super) type ItemReply<A> = Option<Result<A, BackendError>>;

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) struct BatchItem<R, A> {
    request: R,
    answer: oneshot::Sender<ItemReply<A>>,
}

/// Requests that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) leaves: Vec<BatchItem<ReleaseCommand, ReleaseReply>>,
    pub(super) takes: Vec<BatchItem<AcquireCommand, AcquireReply>>,
}

impl<R, A> BatchItem<R, A> {
    pub(super) fn new(request: R, answer: oneshot::Sender<ItemReply<A>>) -> Self {
        Self { request, answer }
    }

    /// Who has given up meanwhile is not told.
    fn tell(self, told: ItemReply<A>) {
        let _given_up = self.answer.send(told);
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// Whoever waits for an answer has been told.
    Replied,
    /// The same, and what is asked for must not be asked together.
    Apart,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.leaves.len() + self.takes.len()
    }

    /// Has everybody ask alone.
    pub(super) fn reject_all(self) {
        for leave in self.leaves {
            leave.tell(None);
        }
        for take in self.takes {
            take.tell(None);
        }
    }

    pub(super) async fn send(mut self, node: &ServerClient, terms: &ClientContext) -> SendOutcome {
        let ready = select! {
            ready = node.ready() => ready,
            () = self.all_given_up() => return SendOutcome::Replied,
        };
        if ready.is_err() {
            self.reject_all();
            return SendOutcome::Replied;
        }
        // Who gave up before anything was sent will clean up.
        self.leaves.retain(|leave| !leave.answer.is_closed());
        self.takes.retain(|take| !take.answer.is_closed());
        if self.len() < LEAST {
            self.send_each(node, terms).await;
            return SendOutcome::Replied;
        }
        self.carry_out(node, terms).await
    }

    /// Sends each request alone, but in one go.
    async fn send_each(self, node: &ServerClient, terms: &ClientContext) {
        let leaves = self.leaves.into_iter().map(async |mut leave| {
            let command = leave.request.alone(&terms.scripts, terms.names_all);
            select! {
                left = node.call(&command) => leave.tell(Some(left.and_then(reply::left))),
                () = leave.answer.closed() => {}
            }
        });
        let takes = self.takes.into_iter().map(async |mut take| {
            let command = take.request.alone(terms);
            select! {
                taken = node.call(&command) => take.tell(Some(taken.and_then(reply::acquired))),
                () = take.answer.closed() => {}
            }
        });
        join(join_all(leaves), join_all(takes)).await;
    }

    async fn carry_out(mut self, node: &ServerClient, terms: &ClientContext) -> SendOutcome {
        let command = self.command(terms);
        let answer = select! {
            answer = node.call(&command) => answer,
            () = self.all_given_up() => return SendOutcome::Replied,
        };
        match answer.and_then(|answer| self.split(answer)) {
            Ok((now, answers)) => self.answer(&now, answers),
            // Whose request it was that the server refused is found out by asking alone.
            Err(error) if error.applied() == Applied::No => {
                self.reject_all();
                if is_of_a_cluster(&error) {
                    return SendOutcome::Apart;
                }
            }
            Err(error) => self.fail(&Arc::new(error)),
        }
        SendOutcome::Replied
    }

    /// Returns when nobody waits for an answer any more.
    async fn all_given_up(&mut self) {
        for leave in &mut self.leaves {
            leave.answer.closed().await;
        }
        for take in &mut self.takes {
            take.answer.closed().await;
        }
    }

    fn command(&self, terms: &ClientContext) -> Cmd {
        let (leaves, takes) = (self.leaves.len(), self.takes.len());
        let keys = leaves * ReleaseCommand::KEYS + takes * AcquireCommand::KEYS;
        let arguments = 1
            + ClientContext::ARGUMENTS
            + leaves * ReleaseCommand::ARGUMENTS
            + takes * AcquireCommand::ARGUMENTS;
        let mut command = terms
            .scripts
            .batch
            .begin(keys, arguments, 48 * (keys + arguments));
        for leave in &self.leaves {
            leave.request.add_keys(&mut command);
        }
        for take in &self.takes {
            take.request.add_keys(&mut command);
        }
        command.arg(leaves);
        terms.add_arguments(&mut command);
        for leave in &self.leaves {
            leave.request.add_arguments(&mut command);
        }
        for take in &self.takes {
            take.request.add_arguments(&mut command);
        }
        command
    }

    /// The server's time, and an answer for each request.
    fn split(&self, answer: Value) -> Result<(String, Vec<Value>), BackendError> {
        let mut answers: Vec<Value> = reply::read(answer)?;
        if answers.len() != self.len() + 1 {
            let count = answers.len().to_string();
            return Err(reply::unexpected_reply(&[&count, "answers"]));
        }
        let now = reply::read(answers.remove(0))?;
        Ok((now, answers))
    }

    fn answer(self, now: &str, answers: Vec<Value>) {
        let mut answers = answers.into_iter();
        for (leave, answer) in self.leaves.into_iter().zip(&mut answers) {
            leave.tell(left(answer));
        }
        for (take, answer) in self.takes.into_iter().zip(answers) {
            take.tell(acquired(answer, now));
        }
    }

    fn fail(self, error: &Arc<BackendError>) {
        for leave in self.leaves {
            leave.tell(Some(Err(of_all(error))));
        }
        for take in self.takes {
            take.tell(Some(Err(of_all(error))));
        }
    }
}

/// The same error for each.
fn of_all(error: &Arc<BackendError>) -> BackendError {
    BackendError::unknown("a call that carried several requests failed")
        .with_source(Arc::clone(error))
}

fn left(answer: Value) -> ItemReply<ReleaseReply> {
    match answer {
        Value::BulkString(word) if word == b"0" => None,
        Value::BulkString(word) if word == b"1" => Some(Ok(ReleaseReply::Ended {
            held: true,
            outcome: HandoffOutcome::NotPassed,
        })),
        other => Some(reply::left(other)),
    }
}

fn acquired(answer: Value, now: &str) -> ItemReply<AcquireReply> {
    match answer {
        Value::BulkString(word) if word == b"0" => None,
        Value::BulkString(token) if token.iter().all(u8::is_ascii_digit) => {
            Some(granted(&token, now))
        }
        other => Some(reply::acquired(other)),
    }
}

fn granted(token: &[u8], now: &str) -> Result<AcquireReply, BackendError> {
    let token = String::from_utf8_lossy(token);
    Ok(AcquireReply {
        server_micros: now
            .parse()
            .map_err(|_| reply::unexpected_reply(&[now, &token]))?,
        verdict: AcquireOutcome::Granted(reply::number_token(&token)?),
    })
}
