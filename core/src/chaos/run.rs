//! One run of the body: its runtime, its history, and its fault.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Chaos;
use super::case::{Case, Fault, Place, Point};
use super::outside_work::OutsideWork;
use super::settled::Settled;
use crate::backend::InProcess;
use crate::clock::LeaseInstant;
use crate::faulty_backend::{self, BackendCall, Command};
use crate::runtime::{paused_runtime, timeout};

/// How long the body may take by the paused clock.
const LONGEST: Duration = Duration::from_secs(60 * 60);

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

/// The end of a run.
pub(super) struct Ended {
    pub(super) log: Log,
    /// Why the run failed, if it did.
    pub(super) failure: Option<String>,
}

impl Run {
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

/// Runs the body once, on a new runtime with paused time.
pub(super) fn execute(
    body: &impl AsyncFn(Chaos),
    seed: u64,
    case: Option<Case>,
    outside: &Arc<OutsideWork>,
) -> Ended {
    let at_rest = Arc::clone(outside);
    let runtime = paused_runtime(move || at_rest.execute());
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let failure = Some(format!("the runtime could not start: {error}"));
            let log = Log::default();
            return Ended { log, failure };
        }
    };
    let run = {
        let _context = runtime.enter();
        Arc::new(Run {
            backend: InProcess::reproducible(),
            outside: Arc::clone(outside),
            seed,
            case,
            start: LeaseInstant::now(),
            clients: AtomicU32::new(0),
            log: Mutex::default(),
        })
    };
    let before = fastrand::get_seed();
    // Backoffs have a random part.
    fastrand::seed(seed);
    outside.set_running(true);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let body = Settled::new(body(Chaos::new(&run)), outside);
            match timeout(LONGEST, body) {
                Some(limited) => limited.await.map_err(|_elapsed| ()),
                None => Ok(()),
            }
        })
    }));
    outside.set_running(false);
    runtime.shutdown_background();
    fastrand::seed(before);
    let failure = match ended {
        Ok(Ok(())) => None,
        Ok(Err(())) => Some("the body did not end within an hour of the paused clock".to_owned()),
        Err(panic) => Some(message(&*panic)),
    };
    let log = std::mem::take(&mut *run.log.lock());
    Ended { log, failure }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
