//! Makes statements on other threads, such as those of sqlx on `SQLite`, happen in the same order in each run.
//!
//! # Implementation details
//!
//! sqlx runs `SQLite` on a separate thread. It sends each statement together with the current span of `tracing`, and
//! the thread enters this span around the statement. So during a run the current span is always a span of this module,
//! and each of its clones has its own id. The module lets the threads enter one span at a time, in the order of their
//! ids, and only while all tasks of the runtime wait. The paused clock advances when no statement is left.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Metadata, Subscriber};
use tracing_core::span::Current;

use leasehold_core::backend::support::clock::machine_time;
use leasehold_core::backend::support::runtime::has_remote_tasks;

const SPAN: &str = "leasehold.chaos";

/// How long a statement may take, with the time until its thread runs on a busy machine. After that the run continues
/// without it, because it may wait for a paused client.
const STATEMENT: Duration = Duration::from_millis(500);

/// How often the runtime checks for woken tasks, which give no notification.
const RECHECK: Duration = Duration::from_micros(100);

/// How long a statement waits for its turn. It waits so long only if the runtime's thread is blocked.
const TURN: Duration = Duration::from_secs(1);

/// The statements that other threads execute for the runtime of a run.
#[derive(Debug)]
pub(super) struct OutsideWork {
    state: Mutex<State>,
    changed: Condvar,
    runtime_thread: ThreadId,
    span: OnceLock<&'static Metadata<'static>>,
}

#[derive(Debug, Default)]
struct State {
    /// Whether a run is in progress. Between the runs, threads may finish at any time.
    is_running: bool,
    /// Whether the tasks of the runtime wait, so that a thread may begin a statement.
    is_open: bool,
    /// Whether another thread has woken a client that was not polled since.
    is_woken: bool,
    /// The number of wakeups that other threads are delivering.
    waking: usize,
    last_id: u64,
    spans: BTreeMap<u64, Phase>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Sent,
    Running,
    /// The statement has completed, did not complete in time, or the span belongs to a task of the runtime.
    Ignored,
}

impl State {
    fn first(&self, phase: Phase) -> Option<u64> {
        let mut spans = self.spans.iter();
        spans.find(|it| *it.1 == phase).map(|it| *it.0)
    }

    fn may_begin(&self, id: u64) -> bool {
        let is_next = self.first(Phase::Sent).is_none_or(|first| id <= first);
        !self.is_running || (self.is_open && is_next && self.first(Phase::Running).is_none())
    }

    fn has_woken(&self) -> bool {
        self.is_woken && self.waking == 0
    }

    fn set(&mut self, id: u64, phase: Phase) {
        if let Some(span) = self.spans.get_mut(&id) {
            *span = phase;
        }
    }

    fn add(&mut self) -> Id {
        self.last_id += 1;
        self.spans.insert(self.last_id, Phase::Sent);
        Id::from_u64(self.last_id)
    }
}

impl OutsideWork {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
            runtime_thread: thread::current().id(),
            span: OnceLock::new(),
        })
    }

    /// Returns a dispatcher of `tracing` that observes the statements. It records no event.
    pub(super) fn dispatcher(self: &Arc<Self>) -> Dispatch {
        let dispatch = Dispatch::new(Statements(Arc::clone(self)));
        // The first span has the metadata for `current_span`.
        tracing::dispatcher::with_default(&dispatch, || drop(tracing::error_span!(SPAN)));
        dispatch
    }

    /// Begins or ends a run.
    pub(super) fn set_running(&self, is_running: bool) {
        self.state.lock().is_running = is_running;
        self.changed.notify_all();
    }

    /// Returns how many statements were sent so far.
    pub(super) fn sent(&self) -> u64 {
        self.state.lock().last_id
    }

    /// Executes statements until none is left, or until a statement has woken a client or a task. All tasks of the
    /// runtime wait.
    pub(super) fn execute(&self) {
        let mut state = self.state.lock();
        state.is_open = true;
        self.changed.notify_all();
        let (mut waited_for, mut end) = (0, machine_time());
        while !state.has_woken() && !has_remote_tasks() {
            let running = state.first(Phase::Running);
            let Some(next) = running.or_else(|| state.first(Phase::Sent)) else {
                break;
            };
            let now = machine_time();
            if next != waited_for {
                (waited_for, end) = (next, now + STATEMENT);
            } else if now >= end {
                state.set(next, Phase::Ignored);
            }
            self.changed.wait_for(&mut state, RECHECK);
        }
        state.is_open = false;
    }

    /// Waits until the running statement has completed, or has woken a client.
    pub(super) fn finish(&self) {
        let mut state = self.state.lock();
        while let Some(running) = state.first(Phase::Running)
            && !state.has_woken()
        {
            if self.changed.wait_for(&mut state, STATEMENT).timed_out() {
                state.set(running, Phase::Ignored);
            }
        }
    }

    /// Delivers a wakeup from another thread. The runtime continues after it was delivered.
    pub(super) fn deliver(&self, wake: impl FnOnce()) {
        {
            let mut state = self.state.lock();
            state.waking += 1;
            state.is_woken = true;
        }
        wake();
        self.state.lock().waking -= 1;
        self.changed.notify_all();
    }

    /// Notes that the woken client is being polled.
    pub(super) fn polled(&self) {
        self.state.lock().is_woken = false;
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
        self.0.state.lock().add()
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, _event: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        let id = id.into_u64();
        let mut state = self.0.state.lock();
        if self.0.is_runtime_thread() {
            state.set(id, Phase::Ignored);
            return;
        }
        let end = machine_time() + TURN;
        while !state.may_begin(id) && !self.0.changed.wait_until(&mut state, end).timed_out() {}
        state.set(id, Phase::Running);
        drop(state);
        self.0.changed.notify_all();
    }

    fn exit(&self, id: &Id) {
        self.0.state.lock().set(id.into_u64(), Phase::Ignored);
        self.0.changed.notify_all();
    }

    fn clone_span(&self, _id: &Id) -> Id {
        self.0.state.lock().add()
    }

    fn try_close(&self, id: Id) -> bool {
        self.0.state.lock().spans.remove(&id.into_u64());
        self.0.changed.notify_all();
        true
    }

    fn current_span(&self) -> Current {
        match self.0.span.get() {
            Some(metadata) => Current::new(Id::from_u64(1), metadata),
            None => Current::none(),
        }
    }
}
