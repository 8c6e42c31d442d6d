//! Makes work of other threads, such as `SQLite` statements of sqlx, happen at the same point of each run.
//!
//! # Implementation details
//!
//! sqlx runs `SQLite` on a thread of its own. It sends each statement together with the current span of `tracing`, and
//! the thread enters this span around the statement. So during a run the current span is always a span of this module.
//! The number of its clones is the number of statements in progress. The module lets a thread enter the span only while
//! the runtime waits for statements. So no statement runs while a task is being polled, and the paused clock does not
//! advance before all statements have completed.

use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_core::span::Current;

use crate::clock::machine_time;

const SPAN: &str = "leasehold.chaos";

/// How long a statement waits for the runtime. Only a runtime that blocks its own thread makes a statement wait so long.
const PATIENCE: Duration = Duration::from_secs(1);

/// The statements that other threads execute for the runtime of a run.
#[derive(Debug)]
pub(super) struct OutsideWork {
    state: Mutex<State>,
    changed: Condvar,
    runtime_thread: ThreadId,
    span: OnceLock<&'static Metadata<'static>>,
}

#[derive(Debug)]
struct State {
    /// Whether threads may begin a statement.
    is_open: bool,
    /// The number of statements that were sent.
    sent: u64,
    pending: usize,
    /// The part of `pending` that did not complete in time, such as a statement that waits for a paused client.
    stuck: usize,
}

impl OutsideWork {
    pub(super) fn new() -> Arc<Self> {
        let state = State {
            is_open: true,
            sent: 0,
            pending: 0,
            stuck: 0,
        };
        Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            runtime_thread: thread::current().id(),
            span: OnceLock::new(),
        })
    }

    /// Returns a dispatcher of `tracing` that counts statements. It records no event.
    pub(super) fn dispatcher(self: &Arc<Self>) -> Dispatch {
        let dispatch = Dispatch::new(Statements(Arc::clone(self)));
        // The first span has the metadata for `current_span`.
        tracing::dispatcher::with_default(&dispatch, || drop(tracing::error_span!(SPAN)));
        dispatch
    }

    /// Begins or ends a run. Between the runs, threads may finish at any time.
    pub(super) fn set_running(&self, is_running: bool) {
        self.state.lock().is_open = !is_running;
        self.changed.notify_all();
    }

    /// Returns how many statements were sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.state.lock().sent
    }

    /// Lets other threads work until all statements have completed or `is_woken` returns true, for at most `limit`.
    pub(super) fn wait(&self, is_woken: impl Fn() -> bool, limit: Duration) {
        let mut state = self.state.lock();
        if state.pending <= state.stuck {
            return;
        }
        state.is_open = true;
        self.changed.notify_all();
        let end = machine_time() + limit;
        while state.pending > state.stuck && !is_woken() {
            if self.changed.wait_until(&mut state, end).timed_out() {
                state.stuck = state.pending;
            }
        }
        state.is_open = false;
    }

    /// Makes [`wait`](Self::wait) call its `is_woken` again.
    pub(super) fn notify(&self) {
        drop(self.state.lock());
        self.changed.notify_all();
    }

    pub(super) fn is_runtime_thread(&self) -> bool {
        thread::current().id() == self.runtime_thread
    }
}

#[derive(Debug)]
struct Statements(Arc<OutsideWork>);

impl Subscriber for Statements {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.name() == SPAN
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::ERROR)
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        self.0.span.get_or_init(|| span.metadata());
        self.0.state.lock().pending += 1;
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, _span: &Id) {
        if self.0.is_runtime_thread() {
            return;
        }
        let mut state = self.0.state.lock();
        let end = machine_time() + PATIENCE;
        while !state.is_open && !self.0.changed.wait_until(&mut state, end).timed_out() {}
    }

    fn exit(&self, _span: &Id) {}

    fn clone_span(&self, id: &Id) -> Id {
        let mut state = self.0.state.lock();
        state.pending += 1;
        state.sent += 1;
        id.clone()
    }

    fn try_close(&self, _id: Id) -> bool {
        let mut state = self.0.state.lock();
        state.pending = state.pending.saturating_sub(1);
        state.stuck = state.stuck.min(state.pending);
        drop(state);
        self.0.changed.notify_all();
        false
    }

    fn current_span(&self) -> Current {
        match self.0.span.get() {
            Some(metadata) => Current::new(Id::from_u64(1), metadata),
            None => Current::none(),
        }
    }
}
