//! Who has left, and which server was told. Soon another one may be in charge, which was not.
//!
//! While a failover that somebody asked for is under way, two servers take themselves for the primary. What the old one
//! is told then the new one never hears: there whoever has left still holds the lock, or stands in line, and is granted
//! the lock in its turn. So what was confirmed a short while ago is said again to a server that comes after: whatever an
//! owner has there ends, and an owner that has left never comes back.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use redis::Value;
use tokio::runtime::Id;
use tokio::sync::watch;

use super::protocol::reply;
use super::topology::Topology;
use crate::backend::BackendError;
use crate::backend::redis::connection::shared_connection::ServerNumber;
use crate::backend::redis::protocol::release_command::ReleaseCommand;
use crate::backend::redis::protocol::reply::ReleaseReply;
use crate::backend::redis::scripts::LockScripts;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;
use crate::clock::{self, LeaseInstant};
use crate::runtime::Runtime;
use crate::{Key, OwnerId};

/// How long it is known that somebody left. A failover takes less, from the handing over until all have followed.
const KNOWN: Duration = Duration::from_secs(30);

/// How many are known at most, the last ones.
const MOST: usize = 4096;

/// How many are told to a server in one go: nobody waits for the answers, but others have something to ask as well.
const AT_ONCE: usize = 64;

/// After a server could not be told, and twice as long each time.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// The releases and cleanups of the last while.
#[derive(Debug)]
pub(super) struct ReleaseReplay {
    /// Keys and servers stay together where there is only one address.
    is_needed: bool,
    recent: Arc<Mutex<RecentReleases>>,
    moves: watch::Sender<u64>,
    waiters: WaiterRegistry,
    scripts: Arc<LockScripts>,
}

#[derive(Debug, Default)]
struct RecentReleases {
    recent: VecDeque<RecentRelease>,
    /// The runtimes that have a task which looks after it: if nobody drives the one, another does.
    runtimes: Vec<Id>,
}

#[derive(Debug, Clone)]
pub(super) struct RecentRelease {
    leave: ReleaseCommand,
    /// Which server has confirmed it; none if nobody knows.
    told: Option<ServerNumber>,
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

    /// Notes which server is about to be told that somebody leaves.
    pub(super) fn begin(
        &self,
        servers: &Topology,
        key: &Key,
        owner: OwnerId,
        latest_expiry: impl FnOnce() -> u64,
    ) -> Option<RecentRelease> {
        self.is_needed.then(|| RecentRelease {
            leave: ReleaseCommand {
                key: key.clone(),
                owner,
                latest_expiry: latest_expiry(),
                named: None,
            },
            told: servers.place(key),
            until: LeaseInstant::now().after(KNOWN),
        })
    }

    /// A server has confirmed it.
    pub(super) fn confirmed(&self, servers: &Arc<Topology>, departure: RecentRelease) {
        let Some(runtime) = Runtime::current() else {
            return;
        };
        let is_elsewhere = servers.place(&departure.leave.key) != departure.told;
        let mut recent = self.recent.lock();
        if recent.recent.len() >= MOST {
            recent.recent.pop_front();
        }
        recent.recent.push_back(departure);
        let is_kept = recent.runtimes.contains(&runtime.id());
        if !is_kept {
            recent.runtimes.push(runtime.id());
        }
        drop(recent);
        if is_elsewhere {
            // It moved while the answer was on its way, and nobody may look again.
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

    /// From here on nobody is told.
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

    /// Those of whom the servers that are in charge now have not heard.
    fn owed(&mut self, servers: &Topology) -> Vec<RecentRelease> {
        self.forget_the_old();
        let is_owed = |it: &&RecentRelease| servers.place(&it.leave.key) != it.told;
        let owed = self.recent.iter().filter(is_owed);
        owed.take(AT_ONCE).cloned().collect()
    }

    fn told(&mut self, owner: OwnerId, place: Option<ServerNumber>) {
        let departures = self.recent.iter_mut();
        for departure in departures.filter(|it| it.leave.owner == owner) {
            departure.told = place;
        }
    }

    fn drop_owner(&mut self, owner: OwnerId) {
        self.recent.retain(|it| it.leave.owner != owner);
    }
}

/// Tells servers that are newly in charge, as long as there is somebody to tell of.
struct ReplayTask {
    recent: Arc<Mutex<RecentReleases>>,
    runtime: Id,
    /// Connections end with the last one who uses them.
    servers: Weak<Topology>,
    moves: watch::Receiver<u64>,
    waiters: WaiterRegistry,
    scripts: Arc<LockScripts>,
}

impl ReplayTask {
    async fn run(mut self) {
        let mut pause = FIRST_PAUSE;
        while self.is_needed() {
            // What changes from here on is looked at once more.
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
            // As long as it is locked: who comes now needs another.
            recent.runtimes.retain(|it| *it != self.runtime);
        }
        !recent.recent.is_empty()
    }

    /// Waits until keys may be elsewhere, or for so long that there may be nobody left to tell of.
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

    /// Tells some; none if there are no servers any more.
    async fn tell(&self) -> Option<Result<ReplayProgress, BackendError>> {
        let servers = self.servers.upgrade()?;
        if let Err(error) = servers.ready().await {
            return Some(Err(error));
        }
        let owed = self.recent.lock().owed(&servers);
        if owed.is_empty() {
            return Some(Ok(ReplayProgress::All));
        }
        let places: Vec<_> = owed.iter().map(|it| servers.place(&it.leave.key)).collect();
        let commands = owed.iter().map(|it| {
            (
                &it.leave.key,
                it.leave.alone(&self.scripts, !servers.is_one()),
            )
        });
        let answers = servers.call_each(commands.collect()).await;
        let mut failed = None;
        let mut answers = answers.into_iter();
        for (departure, place) in owed.iter().zip(places) {
            let answer = answers.next().unwrap_or_else(unanswered);
            let owner = departure.leave.owner;
            match answer.and_then(reply::left) {
                Ok(ReleaseReply::Ended { .. }) => self.recent.lock().told(owner, place),
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
        // Its runtime has ended.
        self.recent.lock().runtimes.retain(|it| *it != self.runtime);
    }
}

enum ReplayProgress {
    All,
    /// There may be more.
    Some,
}

fn unanswered() -> Result<Value, BackendError> {
    Err(BackendError::unknown("the server did not answer"))
}

fn no_memory() -> BackendError {
    BackendError::unknown("the server has no memory left to note that an attempt is over")
}
