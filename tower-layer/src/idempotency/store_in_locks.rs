//! Records responses where the locks are.

use std::time::Duration;

use leasehold_core::Once;

use super::recorded_response::Recorded;
use super::store::{Boxed, Call, NotRecorded, Store, Work};
use crate::Problem;
use crate::limited_acquire::Source;
use crate::problem::outcome_unknown;

/// The store of the lock backend.
#[derive(Debug)]
pub(super) struct InLocks;

impl Store for InLocks {
    fn run<'a>(
        &'a self,
        source: &'a Source,
        call: &'a Call,
        work: Work<'a>,
    ) -> Boxed<'a, Result<Recorded, NotRecorded>> {
        Box::pin(async move {
            let once = source.locks().once(&call.key).keep(call.options.keep);
            // A repeat must not get the failure of the first request.
            let once = once
                .keep_failure(Duration::ZERO)
                .options(&call.options.lock);
            let mut work = Some(work);
            let error = match attempt(once.clone().wait(Duration::ZERO), &mut work).await {
                Err(NotRecorded::Refused(problem)) => problem,
                ended => return ended,
            };
            let wait = call.options.lock.wait.unwrap_or_default();
            // The lock is busy, or the backend may recover.
            let waiting_may_help = work.is_some() && error.retry_after().is_some();
            if wait.is_zero() || !waiting_may_help {
                return Err(error.into());
            }
            let _waiting = source.waiter().map_err(Problem::from)?;
            attempt(once.wait(wait), &mut work).await
        })
    }
}

/// Returns the recorded response, or takes the work and runs it.
async fn attempt(once: Once, work: &mut Option<Work<'_>>) -> Result<Recorded, NotRecorded> {
    once.run(async |lock| match work.take() {
        Some(work) => work(lock).await,
        None => Err(outcome_unknown("the handler has already run").into()),
    })
    .await
}
