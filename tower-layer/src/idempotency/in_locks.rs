//! Records responses where the locks are.

use super::recorded::Recorded;
use super::store::{Boxed, Call, NotRecorded, Store, Work};
use crate::Problem;
use crate::source::Source;

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
            let lock = source.locks().lock(&call.key);
            let guard = source
                .acquire(lock, call.terms)
                .await
                .map_err(Problem::from)?;
            guard.run(async |lock| work(lock).await).await
        })
    }
}
