//! Locks on a Redis or Valkey server, on the primary that Sentinels name, and on a Cluster.

mod address;
mod admission;
mod answer;
mod batch;
mod bounded_stream;
#[cfg(feature = "cluster")]
mod cluster;
mod code;
mod connect;
mod copies;
mod departures;
mod dial;
mod door;
mod driver;
mod ear;
mod errand;
mod failure;
mod garbled;
#[cfg(any(feature = "cluster", feature = "sentinel"))]
mod hosts;
mod inbox;
mod leave;
mod live;
mod names;
mod node;
mod pass;
mod porch;
mod redlock;
mod renewal;
mod reply_size;
mod requests;
mod roster;
mod script;
#[cfg(feature = "sentinel")]
mod sentinel;
mod servers;
mod settle;
mod synced;
mod take;
mod times;
#[cfg(feature = "tls-rustls")]
mod tls;
#[cfg(feature = "simulation")]
mod transport;
mod url;
mod wake_ups;
mod warning;
mod words;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};

use self::answer::Verdict;
use self::batch::Batches;
pub(crate) use self::code::is_readonly;
pub use self::connect::RedisBuilder;
use self::copies::Copies;
use self::departures::Departures;
pub(crate) use self::dial::Opened;
pub(crate) use self::errand::Errand;
use self::failure::asked_before;
pub(crate) use self::failure::{failure, unconnected, unsent};
use self::inbox::{Inbox, Seat};
use self::names::{Companions, Names};
use self::porch::Porch;
pub use self::redlock::{Redlock, RedlockBuilder};
pub use self::reply_size::ReplyTooLarge;
use self::servers::Servers;
use self::synced::Synced;
pub(crate) use self::times::READ_ONLY_FOR;
use self::times::{FENCE_TTL, FIRST_LOOKS, REFRESH};
#[cfg(feature = "tls-rustls")]
pub(crate) use self::tls::choose_provider;
#[cfg(feature = "simulation")]
#[doc(hidden)]
pub use self::transport::{Connecting, Stream};
pub(crate) use self::url::one as info_of;
use self::wake_ups::Presence;
use self::words::millis;
use super::{
    Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, HandoverSecret, Inspection,
    Mode, ReleaseAnswer, RenewAnswer, async_trait,
};
use crate::Key;

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
/// waiter need not ask. Whoever waits elsewhere is woken, and asks. So a process that ends should
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
/// While a slot moves to another master its locks can be neither taken nor released, nor renewed once their keys have
/// begun to move, for the server refuses scripts with keys of which some are missing: these calls fail, surely without
/// effect, and are tried again. A guard outlives the move if its lease does. The masters' clocks should not differ: by as
/// much a lease ends sooner or later where its slot has moved.
///
/// # Keys
///
/// `K` is the prefix and the key: the owner's id, with a TTL. Beside it, in the same slot of a Cluster:
/// `{K}:lh1:fence`, the last token and who drew it, for two days after the last acquisition, or up to 17 minutes less;
/// `{K}:lh1:queue` and `{K}:lh1:leases` while somebody waits; `{K}:lh1:shares` while several hold it; `{K}:lh1:handover` while it is
/// handed over; `{K}:lh1:sealed:…` for a minute after an attempt that was given up unanswered. Every key has a TTL.
///
/// **Each key that is locked once leaves its last token for two days**: a million of them are about 225 MB, and a server
/// that is full (`noeviction`) grants no lock to anybody. Where clients choose keys, such as idempotency keys, leave them no
/// number without end: limit how many requests each may make, or lock one of a fixed number of names that the key is hashed
/// into, and watch `used_memory`. What evicts keys loses locks.
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
/// `CLIENT TRACKING`, which stall and disconnect others and tell of their keys. From 7.2 on a server notes in its `ACL LOG`
/// that a connection did not tell the name of its library; `+client|setinfo` ends that. With the right to run scripts
/// one that has no end can be run, too: that keeps everybody waiting.
pub struct Redis {
    servers: Arc<Servers>,
    inbox: Inbox,
    copies: Copies,
    departures: Departures,
    batches: Batches,
    porch: Porch,
    /// Whether the scripts are told of all keys of a lock, as a Cluster wants it.
    names_all: bool,
    heal: bool,
    synced: Option<Synced>,
}

impl Redis {
    fn new(servers: Servers, inbox: Inbox, heal: bool, synced: Option<Synced>) -> Self {
        Self {
            names_all: !servers.is_one(),
            departures: Departures::new(&servers, inbox.clone()),
            servers: Arc::new(servers),
            inbox,
            copies: Copies::new(),
            batches: Batches::default(),
            porch: Porch::default(),
            heal,
            synced,
        }
    }

    /// What a lock is to become, which replicas have to know of if that was wished for.
    async fn carried_out(&self, key: &Key, command: &Cmd) -> Result<Value, BackendError> {
        match self.synced {
            None => self.servers.call(key, command).await,
            Some(synced) => self.insist(key, command, synced).await,
        }
    }

    /// An attempt that asks for itself.
    async fn attempt_alone(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let seat = attempt.queue.then(|| {
            self.inbox
                .enter(&attempt.key, attempt.owner, self.passable(attempt))
        });
        let waiter = seat.as_ref().map(Seat::waiter);
        if let Some(answer) = waiter.and_then(|waiter| Self::passed_on(attempt, waiter)) {
            return Ok(answer);
        }
        match self.acquire(attempt).await? {
            Verdict::Granted(token) => {
                if attempt.mode == Mode::Exclusive {
                    self.porch.lets_in(&attempt.key, attempt.owner);
                }
                Ok(AttemptAnswer::Granted {
                    token,
                    lease: attempt.ttl,
                })
            }
            Verdict::Busy { holder_left, first } => {
                if let Some(seat) = seat {
                    seat.keep();
                }
                let expires = holder_left.unwrap_or(FIRST_LOOKS).min(REFRESH);
                // The first of all looks for foreign releases, and the first of each process is there
                // when the lease runs out: all before it may have died with the holder.
                let retry_after = if first {
                    expires.min(FIRST_LOOKS)
                } else if self.inbox.is_first(&attempt.key, attempt.owner) {
                    expires
                } else {
                    REFRESH
                };
                Ok(AttemptAnswer::Busy { retry_after })
            }
            Verdict::Refused(refusal) => Ok(AttemptAnswer::Refused(refusal)),
            Verdict::Late => Err(BackendError::not_applied(
                "the request came to the server after its time; the server's clock may have jumped",
            )),
            Verdict::Exhausted => Err(BackendError::not_applied(
                "the next fencing token would not stay below 2^53; set the server's clock right",
            )
            .permanent()),
        }
    }
}

#[async_trait]
impl Backend for Redis {
    fn capabilities(&self) -> Capabilities {
        Capabilities::new(Duration::from_millis(50))
            .with_fifo(true)
            .with_shared(true)
            .with_permits(true)
            .with_handover(true)
    }

    fn server_of(&self, key: &Key) -> u64 {
        self.servers.server_of(key)
    }

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let interruptions = self.inbox.interruptions();
        let passed = self.passed_at_the_porch(attempt).await;
        let was_passed = passed.is_some();
        if let Some(answer) = passed
            && interruptions == self.inbox.interruptions()
        {
            return Ok(answer);
        }
        // Another server may be in charge since; or the release that asked on its behalf was not answered.
        let asked = self.attempt_alone(attempt).await;
        asked.map_err(|failed| {
            if was_passed || self.copies.outstanding(attempt.owner) > 0 {
                return asked_before(failed);
            }
            failed
        })
    }

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        if let Some(wake_ups) = self.inbox.wake_ups(attempt.owner) {
            let _presence = Presence::of(Arc::clone(&wake_ups));
            tokio::select! {
                () = wake_ups.next() => {}
                () = wake_ups.promoted(FIRST_LOOKS) => {}
            }
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        self.extend(claims).await
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let command = script::DOWNGRADE.call(
            &Names::of(&claim.key).all(),
            &[
                &claim.owner.reveal(),
                &millis(claim.ttl),
                &claim.token.to_string(),
            ],
        );
        extended(claim, self.carried_out(&claim.key, &command).await)
    }

    async fn hand_over(
        &self,
        claim: &Claim,
        secret: HandoverSecret,
    ) -> Result<RenewAnswer, BackendError> {
        let mut companions = Companions::of(&claim.key);
        let fence = companions.fence().to_owned();
        let command = script::HAND_OVER.call(
            &[claim.key.full(), &fence, companions.handover()],
            &[
                &claim.owner.reveal(),
                &claim.token.to_string(),
                &secret.reveal(),
                &millis(claim.ttl),
                &millis(FENCE_TTL),
            ],
        );
        extended(claim, self.carried_out(&claim.key, &command).await)
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
        let names = Names::of(key);
        let command = script::INSPECT.call(&names.all(), &[]);
        answer::inspected(self.servers.call(key, &command).await?)
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let names = Names::of(key);
        let command = script::FORCE.call(&names.all(), &[]);
        let held: u8 = answer::read(self.servers.call(key, &command).await?)?;
        Ok(held == 1)
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.inbox.interrupted(seen).await
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
    let held: u8 = answer::read(answer?)?;
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
