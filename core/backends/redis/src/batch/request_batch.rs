//! One script call for many requests, and the reply to each request.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use redis::{Cmd, Value};
use tokio::select;
use tokio::sync::oneshot;

use crate::client::ServerClient;
use crate::error::is_of_a_cluster;
use crate::protocol::acquire_command::{AcquireCommand, ClientContext};
use crate::protocol::release_command::ReleaseCommand;
use crate::protocol::reply::{self, AcquireOutcome, AcquireReply, HandoffOutcome, ReleaseReply};
use leasehold_core::backend::{Applied, BackendError};

/// The largest number of requests in one call. The server does nothing else while it executes a call, so a call must be
/// short.
pub(super) const MOST: usize = 32;

/// The smallest number of requests for which one call costs the server less than separate calls.
pub(super) const LEAST: usize = 3;

/// The reply to one request of a batch. `None` means that the server did nothing, and that the caller must send the
/// request alone.
pub(super) type ItemReply<A> = Option<Result<A, BackendError>>;

/// A request, and the channel for its reply.
#[derive(Debug)]
pub(super) struct BatchItem<R, A> {
    request: R,
    answer: oneshot::Sender<ItemReply<A>>,
}

/// Requests that the client sends together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) releases: Vec<BatchItem<ReleaseCommand, ReleaseReply>>,
    pub(super) takes: Vec<BatchItem<AcquireCommand, AcquireReply>>,
}

impl<R, A> BatchItem<R, A> {
    pub(super) fn new(request: R, answer: oneshot::Sender<ItemReply<A>>) -> Self {
        Self { request, answer }
    }

    /// Sends the reply to the caller, unless the caller has stopped waiting.
    fn tell(self, reply: ItemReply<A>) {
        let _given_up = self.answer.send(reply);
    }
}

/// The result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// All callers have received a reply.
    Replied,
    /// All callers have received a reply. The client must send later requests separately.
    Apart,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.releases.len() + self.takes.len()
    }

    /// Makes each caller send its request alone.
    pub(super) fn reject_all(self) {
        for release in self.releases {
            release.tell(None);
        }
        for take in self.takes {
            take.tell(None);
        }
    }

    pub(super) async fn send(
        mut self,
        node: &ServerClient,
        context: &ClientContext,
    ) -> SendOutcome {
        let ready = select! {
            ready = node.ready() => ready,
            () = self.all_given_up() => return SendOutcome::Replied,
        };
        if ready.is_err() {
            self.reject_all();
            return SendOutcome::Replied;
        }
        // A caller that has stopped waiting cleans up itself, so this does not send its request.
        self.releases.retain(|release| !release.answer.is_closed());
        self.takes.retain(|take| !take.answer.is_closed());
        if self.len() < LEAST {
            self.send_each(node, context).await;
            return SendOutcome::Replied;
        }
        self.carry_out(node, context).await
    }

    /// Sends each request as its own command, in one write.
    async fn send_each(self, node: &ServerClient, context: &ClientContext) {
        let releases = self.releases.into_iter().map(async |mut release| {
            let command = release.request.alone(&context.scripts, context.names_all);
            select! {
                released = node.call(&command) => release.tell(Some(released.and_then(reply::released))),
                () = release.answer.closed() => {}
            }
        });
        let takes = self.takes.into_iter().map(async |mut take| {
            let command = take.request.alone(context);
            select! {
                taken = node.call(&command) => take.tell(Some(taken.and_then(reply::acquired))),
                () = take.answer.closed() => {}
            }
        });
        join(join_all(releases), join_all(takes)).await;
    }

    async fn carry_out(mut self, node: &ServerClient, context: &ClientContext) -> SendOutcome {
        let command = self.command(context);
        let answer = select! {
            answer = node.call(&command) => answer,
            () = self.all_given_up() => return SendOutcome::Replied,
        };
        match answer.and_then(|answer| self.split(answer)) {
            Ok((now, answers)) => self.answer(&now, answers),
            // Each caller sends its request alone, because the error does not identify the request that the server
            // refused.
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

    /// Waits until no caller waits for a reply.
    async fn all_given_up(&mut self) {
        for release in &mut self.releases {
            release.answer.closed().await;
        }
        for take in &mut self.takes {
            take.answer.closed().await;
        }
    }

    fn command(&self, context: &ClientContext) -> Cmd {
        let (releases, takes) = (self.releases.len(), self.takes.len());
        let keys = releases * ReleaseCommand::KEYS + takes * AcquireCommand::KEYS;
        let arguments = 1
            + ClientContext::ARGUMENTS
            + releases * ReleaseCommand::ARGUMENTS
            + takes * AcquireCommand::ARGUMENTS;
        let mut command = context
            .scripts
            .batch
            .begin(keys, arguments, 48 * (keys + arguments));
        for release in &self.releases {
            release.request.add_keys(&mut command);
        }
        for take in &self.takes {
            take.request.add_keys(&mut command);
        }
        command.arg(releases);
        context.add_arguments(&mut command);
        for release in &self.releases {
            release.request.add_arguments(&mut command);
        }
        for take in &self.takes {
            take.request.add_arguments(&mut command);
        }
        command
    }

    /// Returns the server's time, and a reply for each request.
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
        for (release, answer) in self.releases.into_iter().zip(&mut answers) {
            release.tell(released(answer));
        }
        for (take, answer) in self.takes.into_iter().zip(answers) {
            take.tell(acquired(answer, now));
        }
    }

    fn fail(self, error: &Arc<BackendError>) {
        for release in self.releases {
            release.tell(Some(Err(of_all(error))));
        }
        for take in self.takes {
            take.tell(Some(Err(of_all(error))));
        }
    }
}

/// Returns the error for each request of a failed batch.
fn of_all(error: &Arc<BackendError>) -> BackendError {
    BackendError::unknown("a batch of requests failed").with_source(Arc::clone(error))
}

fn released(answer: Value) -> ItemReply<ReleaseReply> {
    match answer {
        Value::BulkString(word) if word == b"0" => None,
        Value::BulkString(word) if word == b"1" => Some(Ok(ReleaseReply::Ended {
            held: true,
            outcome: HandoffOutcome::NotPassed,
        })),
        other => Some(reply::released(other)),
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
