//! Executes one run: its runtime, and its end.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;

use super::failure_report::Failure;
use super::fault_case::Case;
use super::one_run::{Log, Run};
use super::test_body_handle::Chaos;
use super::wake_ordered_future::Settled;
use super::work_on_other_threads::OutsideWork;
use leasehold_core::backend::support::runtime::{paused_runtime, timeout};

/// How long the body may take by the paused clock.
const LONGEST: Duration = Duration::from_secs(60 * 60);

const UNENDED: &str = "the body did not end within an hour of the paused clock";

/// Runs the body once, on a new runtime with paused time.
pub(super) fn execute(
    body: &impl AsyncFn(Chaos),
    seed: u64,
    case: Option<Case>,
    outside: &Arc<OutsideWork>,
) -> Result<Log, Failure> {
    let failed = |reason, log| Failure::new(reason, seed, case, log);
    let at_rest = Arc::clone(outside);
    let runtime = paused_runtime(move || at_rest.execute()).map_err(|error| {
        let reason = format!("the runtime could not start: {error}");
        failed(reason, Log::default())
    })?;
    let run = {
        let _context = runtime.enter();
        Run::new(seed, case, outside)
    };
    let before = fastrand::get_seed();
    // Backoffs have a random part.
    fastrand::seed(seed);
    outside.set_running(true);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let body = Settled::new(body(Chaos::new(&run)), outside);
            OptionFuture::from(timeout(LONGEST, body)).await
        })
    }));
    outside.set_running(false);
    runtime.shutdown_background();
    fastrand::seed(before);
    let log = run.take_log();
    match ended {
        Ok(Some(Ok(()))) => Ok(log),
        Ok(_elapsed) => Err(failed(UNENDED.to_owned(), log)),
        Err(panic) => Err(failed(message(&*panic), log)),
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
