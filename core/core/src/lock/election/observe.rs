//! Observes who leads.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::stream::{self, BoxStream, StreamExt};

use crate::backend::Inspection;
use crate::clock::{self, LeaseInstant};
use crate::engine::{Engine, bounded};
use crate::options::at_least_a_millisecond;
use crate::{Error, FencingToken, Key, Lock, Operation};

/// The leader of an [`Election`](crate::Election), as [`observe`](crate::Election::observe) sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// The [label](crate::LockManagerBuilder::label) of the leader's manager. `None` if the leader does not have a label,
    /// because it uses a version without labels or another program.
    pub label: Option<String>,
    /// The fencing token of the term. Each term has a larger token than all earlier terms.
    pub token: FencingToken,
    /// When the term began, by the clock of the backend: see
    /// [`Inspection::granted_at`](crate::backend::Inspection::granted_at). `None` on `ZooKeeper`.
    pub since: Option<SystemTime>,
}

/// An item of a stream: the leader, `None` without a leader, or the first error of an outage.
type Observed = Result<Option<Leader>, Error>;

/// Observes the lock, and polls it at this interval.
pub(super) fn observe(lock: &Lock, every: Duration) -> BoxStream<'static, Observed> {
    let key = lock.key.clone().map_err(|error| Error::from(*error));
    let valid = at_least_a_millisecond("poll_interval", every).map_err(Error::from);
    let observer = valid.and(key).map(|key| Observer {
        engine: Arc::clone(&lock.engine),
        key,
        every,
        seen: None,
        next_poll: LeaseInstant::now(),
    });
    match observer {
        Ok(observer) => stream::unfold(observer, async |mut observer| {
            let item = observer.next().await?;
            Some((item, observer))
        })
        .boxed(),
        Err(error) => stream::iter([Err(error)]).boxed(),
    }
}

struct Observer {
    engine: Arc<Engine>,
    key: Key,
    every: Duration,
    /// The last item: the token of the leader, or `Err` during an outage.
    seen: Option<Result<Option<FencingToken>, ()>>,
    next_poll: LeaseInstant,
}

impl Observer {
    /// Polls until the state has changed. Returns `None` after the shutdown of the manager.
    async fn next(&mut self) -> Option<Observed> {
        loop {
            let looked = async {
                clock::sleep_until(self.next_poll).await;
                let inspect = self.engine.backend().inspect(&self.key);
                bounded(self.engine.limits.command, inspect).await
            };
            let looked = tokio::select! {
                biased;
                () = self.engine.closed() => return None,
                looked = looked => looked,
            };
            self.next_poll = LeaseInstant::now().after(self.every);
            let item = looked.map(leader);
            let now = match &item {
                Ok(leader) => Ok(leader.as_ref().map(|leader| leader.token)),
                Err(_reported) => Err(()),
            };
            if self.seen.replace(now) != Some(now) {
                let failed = |source| Error::backend(Operation::Inspect, self.key.clone(), source);
                return Some(item.map_err(failed));
            }
        }
    }
}

/// Returns the leader, unless the holder is another program or has not confirmed its grant.
fn leader(seen: Inspection) -> Option<Leader> {
    let holder = seen.held_by.into_iter().next();
    Some(Leader {
        label: holder.and_then(|holder| holder.label),
        token: seen.token?,
        since: seen.granted_at,
    })
}
