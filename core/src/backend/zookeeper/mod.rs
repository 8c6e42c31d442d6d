//! Locks on a `ZooKeeper` ensemble.
//!
//! # When to choose it
//!
//! | | Redis | Redlock | `ZooKeeper` |
//! |---|---|---|---|
//! | a lock survives the loss of | nothing, or replicas that were waited for | a minority of independent servers | a minority of the ensemble |
//! | what keeps two holders apart | one server's memory | a majority of clocks that run alike | an agreed order of all writes |
//! | tokens never go back | while the server keeps its data | while a majority does | always |
//! | order of waiters | first come, first served | none | first come, first served |
//! | a lease belongs to | the lock | the lock | the session: all locks of a manager |
//! | least lease | 50 ms | 6 × `node_timeout`, 1.2 s by default | two ticks of the server, 4 s by default |
//! | an acquire costs | a round trip | a round trip to each server | a write that a majority has on disk |
//!
//! Choose it if it is there already, or if a lock must survive the loss of a server without two holders. Choose Redis
//! if locks are many and short.
//!
//! # What differs
//!
//! - **A lease is the session's.** All locks of a manager live as long as its session does, and end together: a holder
//!   that crashes, or is cut off, keeps its locks for the session timeout, whatever their TTL. Guards know: their
//!   deadlines follow from what the leader has surely heard, at most the session timeout and at least 7/12 of it.
//! - **The TTL of a single lock** is kept only as far as this process does: a lease is never longer, and one that is not
//!   renewed is ended by this process when its TTL is over. It says nothing about a crash.
//! - There is no handover, since a node cannot change its session.
//! - A waiter's wake-up comes from the server, to it alone; for semaphores, to all that wait. A manager has room for some
//!   thousand of them, with short keys; waiters beyond that look every two seconds.
//! - **Tokens are numbers of transactions** (zxids), far below those of Redis and in process, which are microseconds of
//!   the time of day. Tokens compare only for one key of one backend: whoever moves to another over the same fenced
//!   data has to stop all holders, and to reset the tokens that are stored, or all that is written here is refused.
//! - [`inspect`](crate::LockManager::inspect) cannot see others' session timeouts, and tells its own as `expires_in`.
//!
//! # A server that falls silent
//!
//! After a change of leader a server of 3.8 may leave requests unanswered for ever and answer pings all the same: about
//! once in fifty restarts of a leader on a busy machine. A session of which a request is not answered for as long as it
//! lasts is cut and replaced by another. Its guards are lost in time; what it held is free, at the latest, after twice
//! the session timeout and a tick or two.
//!
//! # A server that cannot be trusted
//!
//! The backend trusts servers to follow the protocol. The crate `zookeeper-client` reads their frames on a thread of the
//! session, and limits neither the size of a frame nor the time that it reads. Calls still end by their timeouts, and no
//! runtime of a caller stalls. But an endless frame takes memory until the session ends. Endless watch events keep
//! the thread busy until the server closes the connection, even after a shutdown. Use TLS if another program may answer in
//! place of a server.
//!
//! # TLS
//!
//! With the feature `zookeeper-tls`, `zookeeper+tls://a:2281,b:2281/locks` connects over TLS to the servers'
//! `secureClientPort`, trusts the authorities that the system trusts, and checks that the servers' certificates are for
//! the names, or addresses, in the URL; for others, and for servers that ask for a client's certificate, see
//! [`ZooKeeperBuilder`]. Certificates are read when it connects, and used until it is dropped.
//!
//! rustls computes with what the process has chosen, or else with ring. The feature also builds aws-lc, on which the
//! client's crate insists: in a process with both, code of yours that leaves the choice to rustls panics unless it was
//! made before, by `CryptoProvider::install_default` or by a connection of ours over TLS.
//!
//! # Changing a password
//!
//! Nodes belong to the user and the password that made them: whoever connects with another password is refused. To change
//! it while locks are held and waited for:
//!
//! 1. Restart the processes with the old password, and [`share_with`](ZooKeeperBuilder::share_with) the new one.
//! 2. Give the folder and all nodes in it to both: `setAcl -R` of `zkCli.sh`, with `digest:user:hash:cdrwa` for each.
//! 3. Restart the processes with the new password, and `share_with` the old one.
//! 4. Restart the processes without `share_with`, and give the folder and all nodes in it to the new one alone.
//!
//! # Other programs
//!
//! A lock is an ephemeral sequential node in a container per key. Nodes that others make there, with a number at the end
//! of the name, are taken for exclusive holders and waiters: we wait for those of them that came first. They need not wait
//! for us. The `Lock` of Python's kazoo looks at nodes with names of its own kind alone, and is granted while a guard of
//! ours is valid. The folder in the URL should be ours. At level DEBUG the crate `zookeeper-client` logs the names of nodes,
//! and with them the ids of holders.

mod acquire;
mod attempt_registry;
mod builder;
mod context;
mod current_session;
mod error;
mod inspect;
mod node_creation;
mod node_queue;
mod predecessor_watch;

mod reader_token;
mod release;
mod renew;
mod session;
mod session_keeper;
mod session_liveness;
mod settings;
#[cfg(feature = "zookeeper-tls")]
mod tls;
mod url;
mod watch_budget;
mod znodes;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Inspection, ReleaseAnswer,
    RenewAnswer,
};
use crate::clock::LeaseInstant;
use crate::{Key, OwnerId};
use attempt_registry::AttemptRegistry;
pub use builder::ZooKeeperBuilder;
use context::Context;
use current_session::CurrentSession;
use error::failed;
use release::{delete_orphans, leave, reaper};
use session_keeper::keep;

/// Locks on a `ZooKeeper` ensemble. See the [module](self) for when to choose it.
///
/// One value has one session; clones of a manager share it. Its requests, timers and sign of life run on threads of
/// their own, so that it may be used from any runtime.
///
/// # Rights
///
/// The client needs all rights but `admin` on the folder in the URL, and to make it if it is not there.
pub struct ZooKeeper {
    parts: Context,
}

impl ZooKeeper {
    fn new(link: Arc<CurrentSession>) -> Self {
        let registry = Arc::<AttemptRegistry>::default();
        let task = reaper(Arc::downgrade(&link), Arc::clone(&registry));
        link.thread().spawn(task);
        link.thread().spawn(keep(Arc::downgrade(&link)));
        Self {
            parts: Context { link, registry },
        }
    }

    /// Ends whatever an attempt has: true if it had anything.
    async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        let key = key.clone();
        let asked = async move |Context { link, registry }: Context| match registry.get(owner) {
            Some(entry) => leave(&link, &registry, &entry).await,
            None => delete_orphans(&link, &key, owner).await,
        };
        self.parts.carry_out(asked).await?
    }
}

#[async_trait]
impl Backend for ZooKeeper {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Duration::from_millis(100))
            .with_fifo(true)
            .with_shared(true)
            .with_permits(true)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let (attempt, begun) = (attempt.clone(), LeaseInstant::now());
        self.parts.until_settled().await?;
        let asked = async move |parts: Context| acquire::attempt(&parts, &attempt, begun).await;
        self.parts.carry_out(asked).await?
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        if let Some(entry) = self.parts.registry.get(attempt.owner) {
            entry.wake_up.notified().await;
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let claims = claims.to_vec();
        let asked = async move |parts: Context| renew::renew(&parts, &claims).await;
        let answers = self.parts.carry_out(asked).await;
        answers.unwrap_or_else(|error| vec![Err(error)])
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let claim = claim.clone();
        let asked = async move |parts: Context| renew::downgrade(&parts, &claim).await;
        self.parts.carry_out(asked).await?
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        Ok(match self.leave(&claim.key, claim.owner).await? {
            true => ReleaseAnswer::Released,
            false => ReleaseAnswer::AlreadyGone,
        })
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.leave(&attempt.key, attempt.owner).await.map(drop)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        let key = key.clone();
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            let seen = inspect::inspect(&session, &key).await;
            seen.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let key = key.clone();
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            let held = inspect::force(&session, &key).await;
            held.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.parts.link.interrupted(seen).await
    }

    async fn close(&self) {
        self.parts.link.close().await;
    }
}

impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeper")
            .field("link", &self.parts.link)
            .finish_non_exhaustive()
    }
}
