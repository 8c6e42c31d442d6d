//! Changes of one key. A task writes the pending changes of all tasks of this process in one statement.

use std::sync::Arc;

use leasehold_core::FencingToken;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::key_state::{KeyState, Step};
use tokio::sync::oneshot;

use super::lock_row::Reading;
use super::unanswered_statements::UnansweredStatements;

/// Draws the next token of the key.
pub(super) type Tokens<'a> = &'a mut dyn FnMut() -> Result<FencingToken, BackendError>;

/// The reason for a change, on which its handling of late statements depends.
#[derive(Debug)]
pub(super) enum Reason {
    /// An attempt with these statements, which may have read the row.
    Attempt(Arc<UnansweredStatements>, Option<Reading>),
    /// The end of an attempt. None of its statements may acquire the lock afterwards.
    End(Arc<UnansweredStatements>),
    /// Any other operation.
    Other,
}

/// A change whose caller waits for the answer.
pub(super) trait Change: Send {
    fn reason(&mut self) -> &mut Reason;

    /// Returns whether the caller was dropped.
    fn is_abandoned(&self) -> bool;

    /// Changes the state, and keeps the answer. If it returns false, the state must be discarded.
    fn apply(&mut self, state: &mut KeyState, tokens: Tokens<'_>, step: &mut Step<'_>) -> bool;

    /// Returns the answer of `apply` to the caller.
    fn answer(self: Box<Self>);

    /// Returns an error to the caller.
    fn fail(self: Box<Self>, error: BackendError);
}

/// A change by a function.
pub(super) struct Pending<T, F> {
    reason: Reason,
    function: Arc<F>,
    answer: Option<Result<T, BackendError>>,
    caller: oneshot::Sender<Result<T, BackendError>>,
}

/// Receives the answer to a change, or an error if the task that wrote the change was dropped.
pub(super) type Answer<T> = oneshot::Receiver<Result<T, BackendError>>;

impl<T, F> Pending<T, F> {
    pub(super) fn new(reason: Reason, function: Arc<F>) -> (Self, Answer<T>) {
        let (caller, answer) = oneshot::channel();
        let pending = Self {
            reason,
            function,
            answer: None,
            caller,
        };
        (pending, answer)
    }
}

impl<T, F> Change for Pending<T, F>
where
    T: Send,
    F: Fn(&mut KeyState, Tokens<'_>, &mut Step<'_>) -> Result<T, BackendError> + Send + Sync,
{
    fn reason(&mut self) -> &mut Reason {
        &mut self.reason
    }

    fn is_abandoned(&self) -> bool {
        self.caller.is_closed()
    }

    fn apply(&mut self, state: &mut KeyState, tokens: Tokens<'_>, step: &mut Step<'_>) -> bool {
        let answer = (self.function)(state, tokens, step);
        self.answer.insert(answer).is_ok()
    }

    fn answer(self: Box<Self>) {
        if let Some(answer) = self.answer {
            // The caller may have been dropped.
            drop(self.caller.send(answer));
        }
    }

    fn fail(self: Box<Self>, error: BackendError) {
        drop(self.caller.send(Err(error)));
    }
}
