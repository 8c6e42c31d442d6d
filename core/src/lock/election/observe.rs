//! Observes who leads.

use std::time::{Duration, SystemTime};

use futures_util::stream::{self, Stream, StreamExt};

use super::Election;
use crate::backend::Inspection;
use crate::clock::{self, LeaseInstant};
use crate::engine::{Engine, bounded};
use crate::options::at_least_a_millisecond;
use crate::{Error, FencingToken, Key, Operation};

/// The leader of an [`Election`], as [`Election::observe`] sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// A name of the leader: a short hash of the id of its attempt, as in events and spans.
    pub label: Option<String>,
    /// The fencing token of the term. Each term has a larger token than all earlier terms.
    pub token: FencingToken,
    /// When the term began, by the clock of the backend: see
    /// [`Inspection::granted_at`](crate::backend::Inspection::granted_at). `None` on `ZooKeeper`.
    pub since: Option<SystemTime>,
}

impl Election {
    /// Streams who leads: first the current leader, and then each change. An item is `None` while no candidate leads.
    ///
    /// The stream polls the backend with [`inspect`](crate::LockManager::inspect) at the
    /// [poll interval](Self::poll_interval), so it can miss a short term. An item may be outdated when you read it.
    /// Display it on dashboards, and use tokens to protect data.
    ///
    /// The stream survives failures of the backend. It returns the first error of an outage, and continues to poll.
    /// When the backend replies again, the next item is the leader, even if the leader has not changed. If the key or
    /// the poll interval is invalid, the stream returns [`Error::Key`] or [`Error::Option`] and ends. It also ends when
    /// the manager is shut down. A dropped stream leaves nothing behind.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), leasehold::Error> {
    /// use futures_util::StreamExt;
    /// # let locks = leasehold::LockManager::in_process();
    ///
    /// let mut leaders = locks.election("reports").observe();
    /// while let Some(leader) = leaders.next().await {
    ///     match leader? {
    ///         Some(leader) => println!("{:?} leads, token {}", leader.label, leader.token),
    ///         None => println!("no candidate leads"),
    ///     }
    /// #   locks.shutdown().await?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(
        &self,
    ) -> impl Stream<Item = Result<Option<Leader>, Error>> + Send + Unpin + use<> {
        let every = self.poll_interval;
        let key = self.lock.key.clone().map_err(|error| Error::from(*error));
        let valid = at_least_a_millisecond("poll_interval", every).map_err(Error::from);
        let observer = valid.and(key).map(|key| Observer {
            engine: std::sync::Arc::clone(&self.lock.engine),
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
}

struct Observer {
    engine: std::sync::Arc<Engine>,
    key: Key,
    every: Duration,
    /// The last item: the token of the leader, or `Err` during an outage.
    seen: Option<Result<Option<FencingToken>, ()>>,
    next_poll: LeaseInstant,
}

impl Observer {
    /// Polls until the state has changed. Returns `None` after the shutdown of the manager.
    async fn next(&mut self) -> Option<Result<Option<Leader>, Error>> {
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
    Some(Leader {
        label: seen.owner,
        token: seen.token?,
        since: seen.granted_at,
    })
}
