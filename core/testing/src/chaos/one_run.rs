//! One run of the body: its clients, its history, and its fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::fault_case::{Case, Fault, Place, Point};
use super::work_on_other_threads::OutsideWork;
use crate::faulty_backend::{self, BackendCall, Command};
use leasehold_core::backend::InProcess;
use leasehold_core::backend::support::clock::LeaseInstant;

/// How long the reply to a request usually takes. So each request is an await.
const LATENCY: Duration = Duration::from_millis(1);

/// How long a late reply takes: less than the default command timeout.
const LATE: Duration = Duration::from_millis(1500);

/// What one run shares between its clients.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) backend: InProcess,
    pub(super) outside: Arc<OutsideWork>,
    pub(super) seed: u64,
    pub(super) case: Option<Case>,
    start: LeaseInstant,
    clients: AtomicU32,
    log: Mutex<Log>,
}

/// What has happened in a run.
#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) points: Vec<Point>,
    pub(super) history: Vec<String>,
    /// Where the fault happened, if it did.
    pub(super) fault_at: Option<String>,
}

impl Run {
    /// Creates a run, which begins at the current time of the paused clock.
    pub(super) fn new(seed: u64, case: Option<Case>, outside: &Arc<OutsideWork>) -> Arc<Self> {
        Arc::new(Self {
            backend: InProcess::reproducible(),
            outside: Arc::clone(outside),
            seed,
            case,
            start: LeaseInstant::now(),
            clients: AtomicU32::new(0),
            log: Mutex::default(),
        })
    }

    /// Returns what has happened in the run.
    pub(super) fn take_log(&self) -> Log {
        std::mem::take(&mut *self.log.lock())
    }

    pub(super) fn next_client(&self) -> u32 {
        self.clients.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Adds an event of a client to the history.
    pub(super) fn note(&self, client: u32, event: &str) {
        let millis = LeaseInstant::now().since(self.start).as_millis();
        let line = format!("{millis:>9} ms  client {client} {event}");
        self.log.lock().history.push(line);
    }

    /// Adds a point, and returns the fault that happens there.
    pub(super) fn pass(&self, point: Point, describe: impl FnOnce() -> String) -> Option<Fault> {
        self.log.lock().points.push(point);
        let case = self.case?;
        if (case.client, case.place) != (point.client, point.place) {
            return None;
        }
        self.note(
            point.client,
            &format!("FAULT: {}", case.fault.description()),
        );
        self.log.lock().fault_at = Some(describe());
        Some(case.fault)
    }
}

/// The process of one client, as its backend sees it.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) run: Arc<Run>,
    pub(super) client: u32,
    requests: AtomicU32,
    pub(super) paused_until: Mutex<Option<LeaseInstant>>,
}

impl Process {
    pub(super) fn new(run: &Arc<Run>, client: u32) -> Arc<Self> {
        Arc::new(Self {
            run: Arc::clone(run),
            client,
            requests: AtomicU32::new(0),
            paused_until: Mutex::new(None),
        })
    }

    /// Decides what happens to a request. A paused process sends its requests when it continues.
    pub(super) fn plan(&self, call: &BackendCall) -> faulty_backend::Fault {
        let pause = self.paused_until.lock().map(LeaseInstant::remaining);
        if let Some(pause) = pause.filter(|it| !it.is_zero()) {
            return faulty_backend::Fault::SlowRequest(pause);
        }
        if matches!(
            call.command,
            Command::Wait | Command::Inspect | Command::List
        ) {
            return faulty_backend::Fault::None;
        }
        let number = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let keys: Vec<_> = call.keys.iter().map(ToString::to_string).collect();
        let request = format!("{:?} of {}", call.command, keys.join(", "));
        self.run.note(self.client, &format!("sends {request}"));
        let point = Point {
            client: self.client,
            place: Place::Request(number),
            holds: false,
        };
        let describe = || format!("request {number} of client {}, {request}", self.client);
        match self.run.pass(point, describe) {
            Some(Fault::Late) => faulty_backend::Fault::SlowAnswer(LATE),
            Some(Fault::Unanswered) => faulty_backend::Fault::HangAfter,
            _ => faulty_backend::Fault::SlowAnswer(LATENCY),
        }
    }
}
