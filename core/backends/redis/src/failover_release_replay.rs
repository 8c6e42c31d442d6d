//! Sends recent releases again to a server that becomes the primary, because that server may not have received them.
//!
//! During a planned failover, two servers act as the primary for a short time. The new primary does not receive
//! releases that only the old primary received. On the new primary, an owner that has left may still hold the lock. Or
//! the owner may still be queued, and the new primary may later grant the lock to that owner. So the client sends
//! recently confirmed releases to the next server, too. Such a duplicate request ends the owner's lock or queue
//! position on the new primary. This is safe, because an owner that has left never acquires again.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Value;
use tokio::runtime::Id;
use tokio::sync::watch;

use super::protocol::reply;
use super::topology::Topology;
use crate::connection::shared_connection::ServerNumber;
use crate::protocol::release_command::ReleaseCommand;
use crate::protocol::reply::ReleaseReply;
use crate::scripts::LockScripts;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::clock::{self, LeaseInstant};
use leasehold_core::backend::support::runtime::Runtime;
use leasehold_core::{AttemptId, Key};

/// The time for which the client keeps a release. A failover takes less time, from its start until all clients use the
/// new primary.
const KNOWN: Duration = Duration::from_secs(30);

/// The maximum number of releases that the client keeps. The client discards older releases.
const MOST: usize = 4096;

/// The number of releases in one batch. Batches are small, so that they do not delay the requests of waiting callers.
const AT_ONCE: usize = 64;

/// The pause after the client could not reach a server. The pause doubles each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The recent releases and cleanups.
#[derive(Debug)]
pub(super) struct ReleaseReplay {
    /// False if there is only one address, because keys never move then.
    is_needed: bool,
    recent: Arc<Mutex<RecentReleases>>,
    moves: watch::Sender<u64>,
    waiters: WaiterRegistry,
    scripts: Arc<LockScripts>,
}

#[derive(Debug, Default)]
struct RecentReleases {
    recent: VecDeque<RecentRelease>,
    /// The runtimes with a task that sends releases again. If one runtime is not driven, the task of another continues.
    runtimes: Vec<Id>,
}

#[derive(Debug, Clone)]
pub(super) struct RecentRelease {
    command: ReleaseCommand,
    /// The server that has confirmed the release; `None` if unknown.
    confirmed_by: Option<ServerNumber>,
    until: LeaseInstant,
}

impl ReleaseReplay {
    pub(super) fn new(
        servers: &Topology,
        waiters: WaiterRegistry,
        scripts: Arc<LockScripts>,
    ) -> Self {
        Self {
            is_needed: servers.may_move(),
            recent: Arc::default(),
            moves: servers.moves(),
            waiters,
            scripts,
        }
    }

    /// Records to which server the caller is about to send a release.
    pub(super) fn begin(
        &self,
        servers: &Topology,
        key: &Key,
        owner: AttemptId,
        latest_expiry: impl FnOnce() -> u64,
    ) -> Option<RecentRelease> {
        self.is_needed.then(|| RecentRelease {
            command: ReleaseCommand {
                key: key.clone(),
                owner,
                latest_expiry: latest_expiry(),
                named: None,
            },
            confirmed_by: servers.place(key),
            until: LeaseInstant::now().after(KNOWN),
        })
    }

    /// Records that a server has confirmed a release.
    pub(super) fn confirmed(&self, servers: &Arc<Topology>, release: RecentRelease) {
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let is_elsewhere = servers.place(&release.command.key) != release.confirmed_by;
        let mut recent = self.recent.lock();
        if recent.recent.len() >= MOST {
            recent.recent.pop_front();
        }
        recent.recent.push_back(release);
        let is_kept = recent.runtimes.contains(&runtime.id());
        if !is_kept {
            recent.runtimes.push(runtime.id());
        }
        drop(recent);
        if is_elsewhere {
            // The key moved while the reply was in flight, and possibly nothing else causes a check.
            self.moves.send_modify(|count| *count += 1);
        }
        if !is_kept {
            let task = ReplayTask {
                recent: Arc::clone(&self.recent),
                runtime: runtime.id(),
                servers: Arc::downgrade(servers),
                moves: self.moves.subscribe(),
                waiters: self.waiters.clone(),
                scripts: Arc::clone(&self.scripts),
            };
            runtime.spawn(task.run());
        }
    }

    /// Discards all releases, so that the task sends none of them again.
    pub(super) fn forget(&self) {
        self.recent.lock().recent.clear();
    }
}

impl RecentReleases {
    fn forget_the_old(&mut self) {
        let now = LeaseInstant::now();
        while self.recent.front().is_some_and(|it| it.until <= now) {
            self.recent.pop_front();
        }
    }

    /// Returns the releases that the current servers have not received.
    fn unconfirmed(&mut self, servers: &Topology) -> Vec<RecentRelease> {
        self.forget_the_old();
        let is_unconfirmed =
            |it: &&RecentRelease| servers.place(&it.command.key) != it.confirmed_by;
        let unconfirmed = self.recent.iter().filter(is_unconfirmed);
        unconfirmed.take(AT_ONCE).cloned().collect()
    }

    fn confirm(&mut self, owner: AttemptId, place: Option<ServerNumber>) {
        let releases = self.recent.iter_mut();
        for release in releases.filter(|it| it.command.owner == owner) {
            release.confirmed_by = place;
        }
    }

    fn drop_owner(&mut self, owner: AttemptId) {
        self.recent.retain(|it| it.command.owner != owner);
    }
}

/// Sends recent releases to new servers, while there are recent releases.
struct ReplayTask {
    recent: Arc<Mutex<RecentReleases>>,
    runtime: Id,
    /// The reference is weak, so that this task does not keep the connections open.
    servers: Weak<Topology>,
    moves: watch::Receiver<u64>,
    waiters: WaiterRegistry,
    scripts: Arc<LockScripts>,
}

impl ReplayTask {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while self.is_needed() {
            // Changes after this point cause another check.
            let (moves, interruptions) = (
                *self.moves.borrow_and_update(),
                self.waiters.interruptions(),
            );
            match self.tell().await {
                None => return,
                Some(Ok(ReplayProgress::All)) => {
                    pause = FIRST_PAUSE;
                    self.changed(moves, interruptions).await;
                }
                Some(Ok(ReplayProgress::Some)) => pause = FIRST_PAUSE,
                Some(Err(_reported_to_others)) => {
                    clock::sleep_until(LeaseInstant::now().after(pause)).await;
                    pause = LONGEST_PAUSE.min(pause * 2);
                }
            }
        }
    }

    fn is_needed(&self) -> bool {
        let mut recent = self.recent.lock();
        recent.forget_the_old();
        if recent.recent.is_empty() {
            // This happens under the same mutex, so that a later release starts another task.
            recent.runtimes.retain(|it| *it != self.runtime);
        }
        !recent.recent.is_empty()
    }

    /// Waits until keys may have moved, or until all releases may have expired.
    async fn changed(&mut self, moves: u64, interruptions: u64) {
        let Self {
            moves: counted,
            waiters,
            ..
        } = self;
        tokio::select! {
            _no_sender = counted.wait_for(|count| *count > moves) => {}
            _ = waiters.interrupted(interruptions) => {}
            () = clock::sleep_until(LeaseInstant::now().after(KNOWN)) => {}
        }
    }

    /// Sends some releases. Returns `None` if the servers were dropped.
    async fn tell(&self) -> Option<Result<ReplayProgress, BackendError>> {
        let servers = self.servers.upgrade()?;
        if let Err(error) = servers.ready().await {
            return Some(Err(error));
        }
        let unconfirmed = self.recent.lock().unconfirmed(&servers);
        if unconfirmed.is_empty() {
            return Some(Ok(ReplayProgress::All));
        }
        let places: Vec<_> = unconfirmed
            .iter()
            .map(|it| servers.place(&it.command.key))
            .collect();
        let commands = unconfirmed.iter().map(|it| {
            (
                &it.command.key,
                it.command.alone(&self.scripts, !servers.is_one()),
            )
        });
        let mut answers = servers.call_each(commands.collect()).await;
        let mut failed = None;
        for (release, place) in unconfirmed.iter().zip(places) {
            let answer = answers.next().unwrap_or_else(unanswered);
            let owner = release.command.owner;
            match answer.and_then(reply::released) {
                Ok(ReleaseReply::Ended { .. }) => self.recent.lock().confirm(owner, place),
                Ok(ReleaseReply::Unsealed) => failed = Some(no_memory()),
                Err(error) if error.is_temporary() => failed = Some(error),
                Err(_refused_for_good) => self.recent.lock().drop_owner(owner),
            }
        }
        Some(failed.map_or(Ok(ReplayProgress::Some), Err))
    }
}

impl Drop for ReplayTask {
    fn drop(&mut self) {
        // If the task was dropped with its runtime, a later release must start another task.
        self.recent.lock().runtimes.retain(|it| *it != self.runtime);
    }
}

enum ReplayProgress {
    All,
    /// There may be more releases to send.
    Some,
}

fn unanswered() -> Result<Value, BackendError> {
    Err(BackendError::unknown("the server did not reply"))
}

fn no_memory() -> BackendError {
    BackendError::unknown("the server has no memory left to record the end of an attempt")
}
