//! Locks on a Redis or Valkey server, on the primary that Sentinels report, and on a Cluster.

mod acquire;
mod batch;
pub(crate) mod builder;
mod builder_client_name;
pub(crate) mod client;
mod cluster;
pub(crate) mod connection;
pub(crate) mod error;
pub(crate) mod examine_settings;
mod failover_release_replay;
mod fence;
pub(crate) mod keys;
pub(crate) mod list_locks;
pub(crate) mod protocol;
pub mod redlock;
mod release;
mod renew;
mod reply_size;
mod required_replicas;
pub(crate) mod scripts;
mod sentinel;
pub(crate) mod time_limits;
pub(crate) mod topology;
pub(crate) mod url;
mod url_backend;
pub(crate) mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use redis;
use redis::{Cmd, Value};

use batch::Batcher;
pub use builder::RedisBuilder;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub use connection::simulated_transport::{Connecting, Stream};
pub use connection::transport::IntoClient;
use connection::wait_command_connections::ReplicaRequirement;
use failover_release_replay::ReleaseReplay;
pub use fence::{
    FencedPipeline, FencedPipelineError, MAX_COMMAND_ARGS, RedisFenceStore, RedisReply,
};
use keys::{KeyBuilder, LockKeys};
use leasehold_core::backend::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Finding, HandoverSecret,
    Inspection, ListCursor, ListPage, Outcome, ReleaseAnswer, RenewAnswer, async_trait,
};
use leasehold_core::{AttemptId, Key};
use protocol::millis;
use protocol::server_clock::ServerClock;
use protocol::unanswered_requests::UnansweredRequests;
pub use reply_size::ReplyTooLarge;
use scripts::LockScripts;
use time_limits::{FIRST_LOOKS, REQUESTS_LAST};
use topology::Topology;
use wait::waiter_registry::WaiterRegistry;

/// Locks on one Redis (6.2 or later) or Valkey server.
///
/// The server serves waiters first come, first served, across all processes. There are two exceptions. Candidates of an
/// [election](leasehold_core::Election) have no order. A waiter that arrives within 10 ms after another task of its process
/// acquired the lock queues after 10 ms, or once that task has released the lock. Later waiters of the same process queue
/// after it, unless the process stalls for 10 ms between their arrivals. A waiter queues immediately if its wait or the
/// command timeout is shorter than 100 ms, or if its TTL is shorter than 2 s. With [`synced`](RedisBuilder::synced) every
/// waiter queues immediately.
///
/// A lock is a plain string key with a TTL. Its value is the owner's id and label, or a marker while there are several holders.
/// So a lock also works with programs in other languages that lock with `SET key id NX PX` and release by comparing and
/// deleting. Those programs do not queue, though. While waiters of this crate queue, a program that polls rarely finds
/// the key free.
///
/// One round trip can release the lock and grant it to the next waiter. That waiter must wait for this lock alone,
/// through the same `Redis`, with a TTL of at least 2 s and without [`synced`](RedisBuilder::synced). The waiter
/// receives its own token with the reply to the release, and sends no request.
///
/// The first lease after such a hand-off is 2 s. So a waiter that is not polled, or has ended, does not block others
/// for longer. After 100 ms the watchdog extends the lease to the whole TTL, in the background. If the runtime is
/// blocked for 2 s before that renewal, the lock is lost. A lock without renewal has its whole TTL immediately, because
/// its waiter sends a request.
///
/// The server notifies a waiter of another process, or of another `Redis`, and that waiter sends a request. Call
/// [`shutdown`](leasehold_core::LockManager::shutdown) before the process ends, because a release may have handed the lock to
/// another waiter of the same manager.
///
/// The client batches concurrent requests, up to 32 in one call. No request waits for a timer. The client sends a
/// request immediately if fewer than eight other requests are unanswered. The client sends further requests, and
/// requests behind other waiters for the same lock, when the runtime has polled the tasks that were due. The client
/// sends a batch earlier if the batch contains half of all unanswered requests. Each request has a separate reply,
/// error and deadline, as without a batch. In a Cluster the client sends each request alone.
///
/// The client replaces a broken connection. A guard stays valid if its lease lasts until the manager renews it over the
/// new connection. Otherwise the lock is lost no later than the guard's deadline.
///
/// # Replicas and failovers
///
/// With Sentinels (see [`Redis::connect`]) the client follows each failover. The client connects to the new primary
/// when a Sentinel reports it, when the connection breaks, and when the server refuses writes. Waiters queue again, and
/// holders renew immediately. The holder keeps a lock that the old primary has replicated to the new primary. Otherwise
/// the lock is lost, and its guard reports the loss.
///
/// Every failover, planned or unplanned, has a gap. A primary may fail with a lock that no replica has. A primary may
/// also grant such a lock while its successor is already active. The new primary grants the lock a second time before
/// the first holder's guard reports the loss. [`RedisBuilder::synced`] closes the gap if enough replicas acknowledge
/// each write. A fence ([`FenceStore`](leasehold_core::FenceStore), or the `leasehold-sqlx` crate) rejects the first holder's
/// writes after a write of the second holder.
///
/// A new token is never less than the server's clock in microseconds. So tokens increase even if a failover lost the
/// last token, unless the clocks differ by more than the duration of the failover.
///
/// An old primary that was only disconnected may reconnect. Such a primary serves clients that reach only outdated
/// Sentinels, until a Sentinel makes that primary a replica. During this time the tokens of the two servers may be out
/// of order by the difference of their clocks. `min-replicas-to-write 1` stops a primary without replicas from granting
/// locks.
///
/// # Clusters
///
/// A Redis Cluster needs version 7 or later (see [`Redis::connect`]). Each lock is on the master of its key's slot,
/// together with its auxiliary keys. Each master has one connection for commands, and another connection for
/// notifications if there are waiters. Each address of the URL that is not the name of a master may have a connection,
/// too. After a command without a reply the client queries the slots again before the next command. The query takes at
/// most 100 ms while a member does not respond. The client then uses a promoted replica, with the same gap as with
/// Sentinels.
///
/// Several keys ([`LockManager::lock_all`](leasehold_core::LockManager::lock_all)) may be on several masters: each master
/// receives the keys of its slots, and `lock_all` locks all keys or none.
///
/// Before `CLUSTER FAILOVER`, wait for two conditions. `INFO replication` of the replica must have
/// `master_link_status:up`. `CLUSTER NODES` of every master must report the replica as `connected`. After a restart of
/// the replica the second condition takes about 100 ms longer. Until the second condition is met, the replica does not
/// receive the masters' votes. If the failover begins earlier, the master refuses writes until another election, or for
/// 5 s. During this time the master grants, releases and renews no locks, and short leases end.
///
/// While a slot moves to another master, clients can neither acquire nor release the locks in that slot. Once the keys
/// of a lock have begun to move, clients cannot renew the lock either. The server refuses scripts if some keys are
/// missing. These calls definitely have no effect, and the manager retries them. A guard stays valid if its lease is
/// longer than the move. The masters' clocks should not differ, because a lease in a moved slot ends earlier or later
/// by the difference.
///
/// # Keys
///
/// The key `K` is the prefix and the lock's key. It has a TTL, and its value is the owner: the id of the attempt, followed
/// by `@` and the [label](leasehold_core::LockManagerBuilder::label) of the manager, such as
/// `6f1f0bd0-2d0a-4a0c-8f3e-0d8a9a3f7c11@web-3/4711`. The auxiliary keys are in the same slot of a Cluster:
///
/// - `{K}:lh1:fence`: the last token and its owner. By default this key lasts for two days after the last acquisition,
///   or for up to 17 minutes less; see [`fence_ttl`](RedisBuilder::fence_ttl)
/// - `{K}:lh1:queue` and `{K}:lh1:leases`: while there are waiters
/// - `{K}:lh1:shares`: while the lock has several holders
/// - `{K}:lh1:handover`: while the owner hands over the lock
/// - `{K}:lh1:outcome`: the result of [`once`](leasehold_core::LockManager::once), for its retention time
/// - `{K}:lh1:sealed:…`: for a minute after the cleanup of an attempt without a reply
///
/// Every key has a TTL.
///
/// `DEL K` has the same effect as [`force_release`](leasehold_core::LockManager::force_release), also for all readers and all
/// permits of `K`, except that the server does not notify the waiters. The first waiter polls once a second.
///
/// **Each key that is locked once keeps its last token for two days.** A million keys use about 250 MB, and a full
/// server (`noeviction`) does not grant locks. If clients choose keys, such as idempotency keys, limit the number of
/// keys. For example, limit the requests of each client, or hash the key into a fixed number of names. Also watch
/// `used_memory`. With a shorter [`fence_ttl`](RedisBuilder::fence_ttl) the server keeps tokens for a shorter time. A
/// semaphore of one permit is a lock without a fencing token. A minute after its last lease the server stores nothing
/// about the semaphore. A server that evicts keys loses locks.
///
/// # Permissions
///
/// A user needs at least these permissions, with the default prefix:
///
/// ```text
/// ~lock:* ~{lock:*}:lh1:* resetchannels &leasehold:inbox:*
/// +hello +auth +select +ping +info +time +evalsha +script|load +publish +subscribe
/// +get +mget +set +del +exists +pexpire +pexpireat +pttl +zadd +zcard +zrange +zrevrange +zrem +zremrangebyscore +zscore
/// +hget +hset +hdel +hgetall
/// ```
///
/// With Sentinels the user also needs `+role`. In a Cluster the user also needs `+cluster|info +cluster|slots +spublish
/// +ssubscribe`. With [`RedisBuilder::synced`] the user also needs `+wait`. If the Sentinels have users,
/// a user of the Sentinels needs `resetchannels &+switch-master +hello +auth +ping +subscribe +sentinel|master
/// +sentinel|get-master-addr-by-name`.
///
/// With [`list`](leasehold_core::LockManager::list) the user also needs `+scan +strlen`. Connections get the
/// [name](RedisBuilder::client_name) of their manager only with `+client|setname`.
///
/// Without permission for the channels, the server does not notify waiters, and the waiters poll. Do not give
/// `+@connection`: it includes `CLIENT PAUSE`, `CLIENT KILL` and `CLIENT TRACKING`, which stall and disconnect other
/// clients and reveal their keys. Except for version 7.0, servers record in their `ACL LOG` that they refused `CLIENT
/// SETINFO`. From version 7.2 on, the permission `+client|setinfo` avoids this. A user with permission to run scripts
/// can also run an endless script, which blocks all clients.
///
/// # Changing a password or a certificate
///
/// A manager keeps the user, the password and the certificates from its creation. To use others, connect again, and
/// [shut down](leasehold_core::LockManager::shutdown) the old manager first. No lock is lost if the servers accept both
/// credentials during the change:
///
/// 1. Run `ACL SETUSER user >new` on every server, including replicas. Servers do not replicate users. A restarted
///    server loses the change unless `ACL SAVE` or `CONFIG REWRITE` has written it.
/// 2. Restart the processes with the new URL.
/// 3. Run `ACL SETUSER user <old` on every server.
///
/// If replicas and Sentinels log in as this user, set the new password there before step 3: `CONFIG SET masterauth new`
/// on every server, `SENTINEL SET master-name auth-pass new` on every Sentinel. To change the Sentinels' own password,
/// use the same steps on every Sentinel, with `SENTINEL CONFIG SET sentinel-pass new` before step 3. A Sentinel that
/// refuses the password counts as down. While all Sentinels count as down, open connections stay open, but the client
/// cannot open new connections.
///
/// Open connections stay open during these steps. `CONFIG SET requirepass` replaces the password immediately. A manager
/// with the old password works until it has to connect again. After that each acquire fails immediately with an error
/// that names the server, and each held lock is lost at its guard's deadline. The manager retries releases in the
/// background until the leases end, because an operator may restore the old password.
///
/// Before servers change to certificates of another authority, restart the processes with both authorities in
/// [`RedisBuilder::authorities`]. A server with an expired or untrusted certificate counts as down: acquires retry
/// until the backend retry timeout. Another certificate of the same authority does not require a restart.
pub struct Redis {
    servers: Arc<Topology>,
    waiters: WaiterRegistry,
    server_clock: ServerClock,
    release_replay: ReleaseReplay,
    batches: Batcher,
    scripts: Arc<LockScripts>,
    capabilities: Capabilities,
    /// Whether script calls name all keys of a lock, as a Cluster requires.
    names_all: bool,
    heal: bool,
    synced: Option<ReplicaRequirement>,
}

impl Redis {
    fn new(
        servers: Topology,
        waiters: WaiterRegistry,
        scripts: Arc<LockScripts>,
        options: &RedisBuilder,
    ) -> Self {
        Self {
            names_all: !servers.is_one(),
            release_replay: ReleaseReplay::new(&servers, waiters.clone(), Arc::clone(&scripts)),
            servers: Arc::new(servers),
            waiters,
            server_clock: ServerClock::new(REQUESTS_LAST),
            batches: Batcher::default(),
            scripts,
            capabilities: options.capabilities(),
            heal: options.heal,
            synced: options.synced,
        }
    }

    /// Returns the command that stores the secret of a handover, or without a secret the one that deletes it.
    fn hand_over_command(&self, claim: &Claim, secret: &str) -> Cmd {
        let mut companions = KeyBuilder::of(&claim.key);
        let fence = companions.fence().to_owned();
        self.scripts.hand_over.call(
            &[claim.key.full(), &fence, companions.handover()],
            &[
                claim.owner.written(&mut AttemptId::buffer()),
                &claim.token.to_string(),
                secret,
                &millis(claim.ttl),
            ],
        )
    }

    /// Deletes the secret of a handover that was cancelled, after its lock was released. Without its lock the secret has
    /// no effect, and it expires with the TTL, so a failure does not matter.
    async fn delete_secret(&self, claim: &Claim, unanswered: &UnansweredRequests) {
        if unanswered.may_have_secret() {
            let delete = self.hand_over_command(claim, "");
            let _expires_anyway = self.servers.call(&claim.key, &delete).await;
        }
    }

    /// Runs a command that changes a held lock. If the builder requires replicas, they must acknowledge the change.
    async fn run_and_require_replicas(
        &self,
        key: &Key,
        command: &Cmd,
    ) -> Result<Value, BackendError> {
        match self.synced {
            None => self.servers.call(key, command).await,
            Some(synced) => self.insist(key, command, synced).await,
        }
    }
}

#[async_trait]
impl Backend for Redis {
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }

    fn server_of(&self, key: &Key) -> u64 {
        self.servers.server_of(key)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        self.acquire(attempt).await
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        if self.waiters.wake_ups(attempt.owner).is_some() {
            let waiting = self.waiters.waiting(&attempt.key, attempt.owner);
            tokio::select! {
                () = waiting.wake_ups.next() => {}
                () = waiting.wake_ups.promoted(FIRST_LOOKS) => {}
            }
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        self.extend(claims).await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let command = self.scripts.downgrade.call(
            &LockKeys::of(&claim.key).all(),
            &[
                claim.owner.written(&mut AttemptId::buffer()),
                &millis(claim.ttl),
                &claim.token.to_string(),
            ],
        );
        extended(
            claim,
            self.run_and_require_replicas(&claim.key, &command).await,
        )
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        UnansweredRequests::of_claim(claim).handing_over();
        let command = self.hand_over_command(claim, &secret.reveal());
        extended(
            claim,
            self.run_and_require_replicas(&claim.key, &command).await,
        )
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        let unanswered = UnansweredRequests::of_claim(claim);
        let held = self.release_owner(&claim.key, claim.owner, &unanswered);
        let held = held.await?;
        self.delete_secret(claim, &unanswered).await;
        Ok(match held {
            true => ReleaseAnswer::Released,
            false => ReleaseAnswer::AlreadyGone,
        })
    }

    async fn record(
        &self,
        claim: &Claim,
        outcome: &Outcome,
        keep: Duration,
    ) -> Result<ReleaseAnswer, BackendError> {
        self.send_outcome(claim, outcome, keep).await
    }

    async fn forget(&self, key: &Key) -> Result<bool, BackendError> {
        let mut command = redis::cmd("DEL");
        command.arg(KeyBuilder::of(key).outcome());
        let forgotten: u8 = protocol::reply::read(self.servers.call(key, &command).await?)?;
        Ok(forgotten == 1)
    }

    async fn release_after(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        self.leave_after(claim).await
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        let unanswered = UnansweredRequests::of(attempt);
        let held = self.release_owner(&attempt.key, attempt.owner, &unanswered);
        held.await.map(drop)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        Ok(self.view(key).await?.shown())
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let names = LockKeys::of(key);
        let command = self.scripts.force_release.call(&names.all(), &[]);
        let held: u8 = protocol::reply::read(self.servers.call(key, &command).await?)?;
        Ok(held == 1)
    }

    async fn force_release_holder(&self, key: &Key, id: &str) -> Result<bool, BackendError> {
        self.end_holder(key, id).await
    }

    async fn list(
        &self,
        prefix: &str,
        cursor: Option<&ListCursor>,
    ) -> Result<ListPage, BackendError> {
        self.page(prefix, cursor).await
    }

    async fn examine(&self) -> Result<Vec<Finding>, BackendError> {
        let mut findings = examine_settings::examine(&self.servers).await?;
        let published = self.servers.publish(&self.waiters).await;
        findings.push(examine_settings::notifications(published));
        Ok(findings)
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.waiters.interrupted(seen).await
    }

    async fn close(&self) {
        self.release_replay.forget();
        self.servers.close();
    }
}

fn extended(
    claim: &Claim,
    answer: Result<Value, BackendError>,
) -> Result<RenewAnswer, BackendError> {
    let held: u8 = protocol::reply::read(answer?)?;
    if held == 1 {
        Ok(RenewAnswer::Extended { lease: claim.ttl })
    } else {
        Ok(RenewAnswer::Gone)
    }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("heal", &self.heal)
            .field("synced", &self.synced)
            .finish_non_exhaustive()
    }
}
