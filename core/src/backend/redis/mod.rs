//! Locks on a Redis or Valkey server, on the primary that Sentinels name, and on a Cluster.

mod acquire;
mod batch;
pub(crate) mod builder;
pub(crate) mod client;
#[cfg(feature = "cluster")]
mod cluster;
pub(crate) mod connection;
pub(crate) mod error;
mod failover_release_replay;
pub(crate) mod keys;
pub(crate) mod protocol;
mod release;
mod renew;
mod reply_size;
mod required_replicas;
pub(crate) mod scripts;
#[cfg(feature = "sentinel")]
mod sentinel;
pub(crate) mod timing;
pub(crate) mod topology;
pub(crate) mod url;
pub(crate) mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, HandoverSecret, Inspection,
    ReleaseAnswer, RenewAnswer, async_trait,
};
use crate::Key;
use batch::Batcher;
pub use builder::RedisBuilder;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub use connection::simulated_transport::{Connecting, Stream};
use connection::wait_command_pool::ReplicaRequirement;
use failover_release_replay::ReleaseReplay;
use keys::{KeyBuilder, LockKeys};
use protocol::millis;
use protocol::unanswered_requests::UnansweredRequests;
pub use reply_size::ReplyTooLarge;
use scripts::LockScripts;
use timing::FIRST_LOOKS;
use topology::Topology;
use wait::waiter_registry::WaiterRegistry;

/// Locks on one Redis (6.2 or later) or Valkey server.
///
/// Waiters are served in the order in which they came, over all processes; one that comes within 10 ms after another task
/// of its process got the lock stands in line after 10 ms, or once that one has released it. It stands in line at once if its wait
/// or the command timeout is shorter than 100 ms, its TTL shorter than 2 s, or with [`synced`](RedisBuilder::synced). A lock is a
/// plain string key that holds its owner's id, with a TTL, or a mark while several share it: programs in other languages that lock with `SET key id NX PX` and
/// release by comparing and deleting exclude us and are excluded by us. They are not queued, though: a
/// poller rarely finds the key free while our waiters wait.
///
/// A release passes the lock on to the next in line by itself if that one waits for it alone, at the same `Redis`, with a
/// TTL of at least 2 s and without [`synced`](RedisBuilder::synced): it comes with the answer, under a token of its own, and the
/// waiter need not ask. The first lease is 2 s, so that a waiter that is not polled, or has died, keeps the lock from others for
/// no longer. After 100 ms the watchdog renews the lease, in the background, and it has the whole TTL. If the runtime is blocked
/// for 2 s before that renewal, the lock is lost. A lock that is not renewed gets its whole TTL at once: its waiter sends a
/// request. A waiter of another process, or of another `Redis`, is woken, and sends a request. So a process that ends should
/// [`shutdown`](crate::LockManager::shutdown) first: the lock that it released last may be another of its waiters'.
///
/// What many tasks ask at the same time goes to the server together, up to 32 requests in one call. Nothing waits for
/// that: a request is sent at once while fewer than eight others are on their way, and what is asked beside more, or behind
/// others for the same lock, is sent when the runtime has polled the tasks that were due, or before that as soon as it is a
/// third of all. Each request has an answer, an error and a deadline of its own, as if it had been sent alone. In a Cluster
/// each is.
///
/// The connection is made anew when it is lost. A guard is kept if its lease survived, and lost no later
/// than its deadline if not.
///
/// # Replicas and failovers
///
/// With Sentinels (feature `sentinel`, see [`Redis::connect`]) the connection follows each failover: it is led to the
/// new primary when a Sentinel tells of it, when the connection breaks, and when the server takes no writes. Waiters
/// queue again, and holders renew at once. A lock that the new primary knows goes on; one that it does not know is
/// lost, loudly.
///
/// The hole of every failover, planned or not: a primary may die, or serve for a moment beside its successor, with a lock
/// that no replica had, and the new one grants it a second time while the first holder has not heard of anything. [`RedisBuilder::synced`] closes it as far as replicas
/// acknowledge; a fence ([`FenceStore`](crate::FenceStore), or the `leasehold-sqlx` crate) makes it harmless. Tokens
/// are never less than the server's clock, in microseconds, when they are drawn. So they go on growing over a failover
/// that lost them, if the new primary's clock is past the newest of the lost tokens: if clocks differ by less than
/// a failover takes.
///
/// An old primary that was only cut off, and comes back, serves those who reach no Sentinel that knows better, until
/// it is made a replica. Tokens that both draw within the difference of their clocks need not be in order;
/// `min-replicas-to-write 1` keeps a primary without replicas from granting anything.
///
/// # Clusters
///
/// In a Redis Cluster (feature `cluster`, version 7 or later, see [`Redis::connect`]) each lock is on the master of its
/// key's slot, with all that belongs to it. Each master has a connection for commands, and one for wake-ups where
/// somebody waits; each address of the URL that is no master by that name may have one, too. After a command that was not
/// answered the next one asks its way first, which takes up to 100 ms while a member is silent. A replica that is promoted is found as with Sentinels, and the same holds for what it does not know.
/// Several keys ([`LockManager::lock_all`](crate::LockManager::lock_all)) may be on several masters: each is
/// asked for those that it has, and all are locked or none.
///
/// Before `CLUSTER FAILOVER`, wait until `INFO replication` of the replica has `master_link_status:up`, and `CLUSTER NODES`
/// of every master ends the replica's line with `connected`: after a restart of the replica that takes about 100 ms longer.
/// Before that the masters' votes do not reach it. The master then takes no writes until another election or for 5 s, so
/// nothing is granted, released or renewed, and short leases end.
///
/// While a slot moves to another master its locks can be neither taken nor released, nor renewed once their keys have
/// begun to move, for the server refuses scripts with keys of which some are missing: these calls fail, surely without
/// effect, and are tried again. A guard outlives the move if its lease does. The masters' clocks should not differ: by as
/// much a lease ends sooner or later where its slot has moved.
///
/// # Keys
///
/// `K` is the prefix and the key: the owner's id, with a TTL. Beside it, in the same slot of a Cluster:
/// `{K}:lh1:fence`, the last token and who drew it, for two days after the last acquisition, or up to 17 minutes less, or for
/// the [`fence_ttl`](RedisBuilder::fence_ttl) that is set;
/// `{K}:lh1:queue` and `{K}:lh1:leases` while somebody waits; `{K}:lh1:shares` while several hold it; `{K}:lh1:handover` while it is
/// handed over; `{K}:lh1:sealed:…` for a minute after an attempt that was given up unanswered. Every key has a TTL.
///
/// **Each key that is locked once leaves its last token for two days**: a million of them are about 225 MB, and a server
/// that is full (`noeviction`) grants no lock to anybody. Where clients choose keys, such as idempotency keys, leave them no
/// number without end: limit how many requests each may make, or lock one of a fixed number of names that the key is hashed
/// into, and watch `used_memory`. A shorter [`fence_ttl`](RedisBuilder::fence_ttl) keeps tokens for less long. A semaphore of
/// one permit is a lock without a fencing token, and leaves nothing a minute after its last lease. What evicts keys loses
/// locks.
///
/// # Rights
///
/// The least that a user needs, with the default prefix:
///
/// ```text
/// ~lock:* ~{lock:*}:lh1:* resetchannels &leasehold:inbox:*
/// +hello +auth +select +ping +info +time +evalsha +script|load +publish +subscribe
/// +get +mget +set +del +exists +pexpire +pexpireat +pttl +zadd +zcard +zrange +zrevrange +zrem +zremrangebyscore +zscore
/// +hget +hset +hdel +hgetall
/// ```
///
/// With Sentinels `+role`, in a Cluster `+cluster|info +cluster|slots +spublish +ssubscribe`, and with [`RedisBuilder::synced`] `+wait`.
/// Where the Sentinels have users, a user of the Sentinels needs
/// `resetchannels &+switch-master +hello +auth +ping +subscribe +sentinel|master +sentinel|get-master-addr-by-name`.
///
/// Without the channels nobody is woken, and waiters poll. Do not give `+@connection`: it has `CLIENT PAUSE`, `CLIENT KILL` and
/// `CLIENT TRACKING`, which stall and disconnect others and tell of their keys. Servers other than 7.0 note in their `ACL LOG`
/// that a connection did not tell the name of its library; from 7.2 on `+client|setinfo` ends that. With the right to run
/// scripts one that has no end can be run, too: that keeps everybody waiting.
///
/// # Changing a password or a certificate
///
/// A manager keeps the user, the password and the certificates that it was made with. To use others, connect again, and
/// [shut down](crate::LockManager::shutdown) the manager before. No lock is lost if the servers accept both meanwhile:
///
/// 1. `ACL SETUSER user >new` on every server, replicas included. Servers do not replicate users, and forget this in a
///    restart unless `ACL SAVE` or `CONFIG REWRITE` has written it.
/// 2. Restart the processes with the new URL.
/// 3. `ACL SETUSER user <old` on every server.
///
/// If replicas and Sentinels log in as this user, give them the new password before step 3: `CONFIG SET masterauth new` on
/// every server, `SENTINEL SET master-name auth-pass new` on every Sentinel. The Sentinels' own password is changed by
/// the same steps on every Sentinel, with `SENTINEL CONFIG SET sentinel-pass new` before step 3. A Sentinel that refuses the
/// password counts as one that is down. While all are, open connections stay open, and no other can be made.
///
/// Open connections stay open during these steps. `CONFIG SET requirepass` replaces the password immediately. A manager
/// with the old one works until it has to connect again. Then each acquire fails immediately with an error that names the
/// server, and a guard is lost at its deadline. The manager repeats releases in the background until the leases end,
/// because the old password may be restored.
///
/// Before servers change to certificates of another authority, restart the processes with both authorities in
/// [`RedisBuilder::authorities`]. A server whose certificate is not trusted, or has expired, counts as one that is down:
/// waiters try again, until the outage limit. Another certificate of the same authority needs no restart.
pub struct Redis {
    servers: Arc<Topology>,
    waiters: WaiterRegistry,
    copies: UnansweredRequests,
    departures: ReleaseReplay,
    batches: Batcher,
    scripts: Arc<LockScripts>,
    max_ttl: Duration,
    /// Whether the scripts are told of all keys of a lock, as a Cluster wants it.
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
            departures: ReleaseReplay::new(&servers, waiters.clone(), Arc::clone(&scripts)),
            servers: Arc::new(servers),
            waiters,
            copies: UnansweredRequests::new(),
            batches: Batcher::default(),
            scripts,
            max_ttl: options.max_ttl(),
            heal: options.heal,
            synced: options.synced,
        }
    }

    /// What a lock is to become, which replicas have to know of if that was wished for.
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
        Capabilities::new(Duration::from_millis(50))
            .with_most_ttl(self.max_ttl)
            .with_fifo(true)
            .with_shared(true)
            .with_permits(true)
            .with_handover(true)
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
                &claim.owner.reveal(),
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
        let mut companions = KeyBuilder::of(&claim.key);
        let fence = companions.fence().to_owned();
        let command = self.scripts.hand_over.call(
            &[claim.key.full(), &fence, companions.handover()],
            &[
                &claim.owner.reveal(),
                &claim.token.to_string(),
                &secret.reveal(),
                &millis(claim.ttl),
            ],
        );
        extended(
            claim,
            self.run_and_require_replicas(&claim.key, &command).await,
        )
    }

    async fn release(&self, claim: &Claim) -> Result<ReleaseAnswer, BackendError> {
        if self.leave(&claim.key, claim.owner).await? {
            Ok(ReleaseAnswer::Released)
        } else {
            Ok(ReleaseAnswer::AlreadyGone)
        }
    }

    async fn cleanup(&self, attempt: &Attempt) -> Result<(), BackendError> {
        self.leave(&attempt.key, attempt.owner).await.map(drop)
    }

    async fn inspect(&self, key: &Key) -> Result<Inspection, BackendError> {
        let names = LockKeys::of(key);
        let command = self.scripts.inspect.call(&names.all(), &[]);
        protocol::reply::inspected(self.servers.call(key, &command).await?)
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let names = LockKeys::of(key);
        let command = self.scripts.force_release.call(&names.all(), &[]);
        let held: u8 = protocol::reply::read(self.servers.call(key, &command).await?)?;
        Ok(held == 1)
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.waiters.interrupted(seen).await
    }

    async fn close(&self) {
        self.departures.forget();
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
