//! One call that carries many requests, and what is answered to each.

use std::sync::Arc;

use futures_util::future::{join, join_all};
use redis::{Cmd, Value};
use tokio::select;
use tokio::sync::oneshot;

use crate::backend::redis::answer::{self, Acquired, HandOn, Left, Verdict};
use crate::backend::redis::failure::is_of_a_cluster;
use crate::backend::redis::leave::Leave;
use crate::backend::redis::node::Node;
use crate::backend::redis::script;
use crate::backend::redis::take::{Take, Terms};
use crate::backend::{Applied, BackendError};

/// How many requests one call carries at most: a server does nothing else while it carries them out.
pub(super) const MOST: usize = 32;

/// From how many requests on it is cheaper for the server to look at them together.
pub(super) const LEAST: usize = 3;

/// What one who asked with others is told; none if it is to ask alone, for nothing was done.
pub(super) type Told<A> = Option<Result<A, BackendError>>;

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) struct Asked<R, A> {
    request: R,
    answer: oneshot::Sender<Told<A>>,
}

/// Requests that are sent together.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) leaves: Vec<Asked<Leave, Left>>,
    pub(super) takes: Vec<Asked<Take, Acquired>>,
}

impl<R, A> Asked<R, A> {
    pub(super) fn new(request: R, answer: oneshot::Sender<Told<A>>) -> Self {
        Self { request, answer }
    }

    /// Who has given up meanwhile is not told.
    fn tell(self, told: Told<A>) {
        let _given_up = self.answer.send(told);
    }
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// Whoever waits for an answer has been told.
    Told,
    /// The same, and what is asked for must not be asked together.
    Apart,
}

impl Batch {
    pub(super) fn len(&self) -> usize {
        self.leaves.len() + self.takes.len()
    }

    /// Has everybody ask alone.
    pub(super) fn dissolve(self) {
        for leave in self.leaves {
            leave.tell(None);
        }
        for take in self.takes {
            take.tell(None);
        }
    }

    pub(super) async fn send(mut self, node: &Node, terms: &Terms) -> Sent {
        let ready = select! {
            ready = node.ready() => ready,
            () = self.all_given_up() => return Sent::Told,
        };
        if ready.is_err() {
            self.dissolve();
            return Sent::Told;
        }
        // Who gave up before anything was sent will clean up.
        self.leaves.retain(|leave| !leave.answer.is_closed());
        self.takes.retain(|take| !take.answer.is_closed());
        if self.len() < LEAST {
            self.send_each(node, terms).await;
            return Sent::Told;
        }
        self.carry_out(node, terms).await
    }

    /// Sends each request alone, but in one go.
    async fn send_each(self, node: &Node, terms: &Terms) {
        let leaves = self.leaves.into_iter().map(async |mut leave| {
            let command = leave.request.alone(terms.names_all);
            select! {
                left = node.call(&command) => leave.tell(Some(left.and_then(answer::left))),
                () = leave.answer.closed() => {}
            }
        });
        let takes = self.takes.into_iter().map(async |mut take| {
            let command = take.request.alone(terms);
            select! {
                taken = node.call(&command) => take.tell(Some(taken.and_then(answer::acquired))),
                () = take.answer.closed() => {}
            }
        });
        join(join_all(leaves), join_all(takes)).await;
    }

    async fn carry_out(mut self, node: &Node, terms: &Terms) -> Sent {
        let command = self.command(terms);
        let answer = select! {
            answer = node.call(&command) => answer,
            () = self.all_given_up() => return Sent::Told,
        };
        match answer.and_then(|answer| self.split(answer)) {
            Ok((now, answers)) => self.answer(&now, answers),
            // Whose request it was that the server refused is found out by asking alone.
            Err(error) if error.applied() == Applied::No => {
                self.dissolve();
                if is_of_a_cluster(&error) {
                    return Sent::Apart;
                }
            }
            Err(error) => self.fail(&Arc::new(error)),
        }
        Sent::Told
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

    fn command(&self, terms: &Terms) -> Cmd {
        let (leaves, takes) = (self.leaves.len(), self.takes.len());
        let keys = leaves * Leave::KEYS + takes * Take::KEYS;
        let arguments = 1 + Terms::ARGUMENTS + leaves * Leave::ARGUMENTS + takes * Take::ARGUMENTS;
        let mut command = script::BATCH.begin(keys, arguments, 48 * (keys + arguments));
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
        let mut answers: Vec<Value> = answer::read(answer)?;
        if answers.len() != self.len() + 1 {
            let count = answers.len().to_string();
            return Err(answer::strange(&[&count, "answers"]));
        }
        let now = answer::read(answers.remove(0))?;
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

fn left(answer: Value) -> Told<Left> {
    match answer {
        Value::BulkString(word) if word == b"0" => None,
        Value::BulkString(word) if word == b"1" => Some(Ok(Left::Ended {
            held: true,
            outcome: HandOn::None,
        })),
        other => Some(answer::left(other)),
    }
}

fn acquired(answer: Value, now: &str) -> Told<Acquired> {
    match answer {
        Value::BulkString(word) if word == b"0" => None,
        Value::BulkString(token) if token.iter().all(u8::is_ascii_digit) => {
            Some(granted(&token, now))
        }
        other => Some(answer::acquired(other)),
    }
}

fn granted(token: &[u8], now: &str) -> Result<Acquired, BackendError> {
    let token = String::from_utf8_lossy(token);
    Ok(Acquired {
        server_micros: now.parse().map_err(|_| answer::strange(&[now, &token]))?,
        verdict: Verdict::Granted(answer::number_token(&token)?),
    })
}
