//! Locks on a `ZooKeeper` ensemble.
//!
//! # When to choose it
//!
//! | | Redis | Redlock | `ZooKeeper` |
//! |---|---|---|---|
//! | a lock survives the loss of | the primary, if a replica has acknowledged the lock and is promoted | a minority of independent servers | a minority of the ensemble |
//! | exclusion depends on | one server's memory | a majority of clocks that run at the same rate | an agreed order of all writes |
//! | tokens never decrease | while the server keeps its data | while a majority does | always |
//! | order of waiters | first come, first served | none | first come, first served |
//! | a lease belongs to | the lock | the lock | the session: all locks of a manager |
//! | shortest lease | 50 ms | 6 × `node_timeout`, 1.2 s by default | two ticks of the server, 4 s by default |
//! | an acquire costs | a round trip | a round trip to each server | a write that a majority has stored on disk |
//!
//! Choose `ZooKeeper` if you already operate it, or if the loss of a server must not lead to two holders of a lock.
//! Choose Redis for many short locks.
//!
//! # Differences from the other backends
//!
//! - **A lease belongs to the session.** All locks of a manager last as long as its session does, and end together. A
//!   holder that crashes, or loses its connection, keeps its locks for the session timeout, regardless of their TTL.
//!   The backend calculates the deadline of a guard from the messages that the leader has definitely received. The
//!   remaining time is at most the session timeout, and at least 7/12 of the session timeout.
//! - ***Only this process enforces the TTL of a single lock.** A lease is never longer than the TTL. Without renewal,
//!   this process ends the lease when the TTL is over. The TTL does not apply after a crash.
//! - This backend does not support handovers, because a node cannot change its session.
//! - The server notifies only one waiter at a time, but it notifies all waiters of a semaphore and all candidates of an
//!   [election](leasehold_core::Election). A manager can set watches for some thousand waiters, if the keys are short. Further
//!   waiters poll every two seconds.
//! - **Tokens are transaction numbers** (zxids). These numbers are far smaller than the tokens of Redis and of the
//!   in-process backend, which are microseconds of the time of day. Compare tokens only for one key of one backend.
//!   Before you move to another backend over the same fenced data, stop all holders and reset the stored tokens.
//!   Otherwise the fence rejects all writes under this backend.
//! - The name of a node contains the label of its manager, with `%2F` for a slash.
//! - The first page of a [`list`](leasehold_core::LockManager::list) reads the names of all keys in the folder, because the server
//!   does not divide them into pages. A server limits the size of this reply (`jute.maxbuffer`).
//! - [`inspect`](leasehold_core::LockManager::inspect) cannot read the session timeouts of other managers, and returns its own
//!   as `expires_in`.
//!
//! # A server that does not respond
//!
//! After a change of leader a server of version 3.8 may leave requests unanswered forever while it still replies to
//! pings. This fault occurs about once in fifty restarts of a leader on a busy machine. If a request has no reply for
//! the session timeout, this backend disconnects the session and opens another. The session's guards report the loss
//! before the server frees the locks. The locks are free after at most twice the session timeout plus one or two ticks.
//!
//! # A server that cannot be trusted
//!
//! The backend trusts servers to follow the protocol. The crate `zookeeper-client` reads their frames on a thread of
//! the session. That crate limits neither the size of a frame nor the time for reading it. Calls still end by their
//! timeouts, and do not block the callers' runtimes. However, an endless frame uses more and more memory until the
//! session ends. Endless watch events occupy the thread until the server closes the connection, even after a shutdown.
//! Use TLS if another program could impersonate a server.
//!
//! # TLS
//!
//! With the feature `tls-rustls`, `zookeeper+tls://a:2281,b:2281/locks` connects over TLS to the servers'
//! `secureClientPort`. The client trusts the authorities that the system trusts, and checks that the servers'
//! certificates match the names or addresses in the URL. For other authorities, and for client certificates, see
//! [`ZooKeeperBuilder`]. The backend reads certificates when it connects, and uses them until it is dropped.
//!
//! rustls uses the crypto provider that the process has set, and otherwise ring. The feature also builds aws-lc, which
//! the client's crate requires. In a process with both providers, code that uses a default provider panics unless the
//! process has set one before. `CryptoProvider::install_default` sets one, and so does the first TLS connection of this
//! crate.
//!
//! # Changing a password
//!
//! Nodes belong to the user and the password that created them: the server refuses a client with another password. To
//! change the password while there are holders and waiters:
//!
//! 1. Restart the processes with the old password, and [`share_with`](ZooKeeperBuilder::share_with) the new one.
//! 2. Give the folder and all nodes in it to both credentials: run `setAcl -R` of `zkCli.sh`, with
//!    `digest:user:hash:cdrwa` for each of them.
//! 3. Restart the processes with the new password, and `share_with` the old one.
//! 4. Restart the processes without `share_with`, and give the folder and all nodes in it to the new credentials only.
//!
//! # Other programs
//!
//! A lock is an ephemeral sequential node in a container per key. A node of another program in this container, with a
//! number at the end of its name, counts as an exclusive holder or waiter. Our waiters wait for such nodes if they were
//! created earlier. However, other programs need not wait for our nodes. The `Lock` of Python's kazoo checks only nodes
//! with names in kazoo's format, and so acquires the lock while a guard of ours is valid. So use a folder in the URL
//! that no other program uses. At level DEBUG the crate `zookeeper-client` logs the names of nodes, which contain the
//! ids of holders.

mod acquire;
mod attempt_registry;
mod backend_context;
mod builder;
mod candidate_node;
mod current_session;
mod error;
mod examine_ensemble;
mod inspect_and_list;
mod node_creation;
mod node_queue;
mod predecessor_watch;

mod node_names;
mod reader_token;
mod release;
mod renew;
mod runtime_thread;
mod session;
mod session_deadline;
mod session_keeper;
mod settings;
#[cfg(feature = "tls-rustls")]
mod tls;
mod url;
mod url_backend;
mod watch_budget;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use attempt_registry::AttemptRegistry;
use backend_context::Context;
pub use builder::ZooKeeperBuilder;
use current_session::CurrentSession;
use error::failed;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Finding, Inspection,
    ListCursor, ListPage, ReleaseAnswer, RenewAnswer,
};
use leasehold_core::{AttemptId, Key};
use release::{delete_orphans, leave, reaper};
use session_keeper::keep;

/// Locks on a `ZooKeeper` ensemble. See the [module](self) for when to choose it.
///
/// One value has one session, which all clones of a manager use. Its requests, timers and heartbeats run on separate
/// threads, so you can use it from any runtime.
///
/// # Permissions
///
/// The client needs all permissions except `admin` on the folder in the URL, and permission to create it if it does not
/// exist.
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

    pub(crate) const CAPABILITIES: Capabilities = Capabilities::new(Duration::from_millis(100))
        .with_fifo(true)
        .with_shared(true)
        .with_permits(true)
        .with_list(true);

    /// Ends an attempt's lock or queue position. Returns whether the attempt had one of them.
    async fn leave(&self, key: &Key, owner: AttemptId) -> Result<bool, BackendError> {
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
        Self::CAPABILITIES
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
            let seen = inspect_and_list::inspect(&session, &key).await;
            seen.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let key = key.clone();
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            let held = inspect_and_list::force(&session, &key, None).await;
            held.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        let (key, id) = (key.clone(), id.to_owned());
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            let held = inspect_and_list::force(&session, &key, Some(&id)).await;
            held.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        let (prefix, cursor) = (prefix.to_owned(), cursor.cloned());
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            let page = inspect_and_list::list(&session, &prefix, cursor.as_ref()).await;
            page.map_err(|error| failed(&error))
        };
        self.parts.carry_out(asked).await?
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        let asked = async move |parts: Context| {
            let session = parts.link.session().await?;
            Ok(examine_ensemble::examine(&session).await)
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
