//! Locks on a Redis or Valkey server, and on the primary of a group of them.

mod address;
mod answer;
mod connect;
mod copies;
mod failure;
#[cfg(feature = "sentinel")]
mod hosts;
mod inbox;
mod live;
mod names;
mod node;
mod script;
#[cfg(feature = "sentinel")]
mod sentinel;
mod settle;
mod synced;
#[cfg(feature = "tls-rustls")]
mod tls;
mod url;
mod warning;

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use redis::{Cmd, Pipeline, Value};

use self::address::Address;
use self::answer::Verdict;
pub use self::connect::RedisBuilder;
use self::copies::{COPIES_LAST, Copies};
pub(crate) use self::failure::failure;
use self::inbox::Inbox;
use self::names::Names;
use self::node::Node;
use self::synced::Synced;
#[cfg(feature = "tls-rustls")]
pub(crate) use self::tls::choose_provider;
use super::{
    Applied, Attempt, AttemptAnswer, Backend, BackendError, Capabilities, Claim, Inspection, Mode,
    ReleaseAnswer, RenewAnswer, async_trait,
};
use crate::clock::Moment;
use crate::{Key, OwnerId};

/// How long a waiter that falls silent keeps its place, on the server's clock.
const WAITER_LEASE: Duration = Duration::from_secs(33);

/// How often a waiter repeats its attempt to keep its place. A little more than ten seconds: with the looks of
/// the first among them a thousand waiters still send less than a hundred commands a second.
const REFRESH: Duration = Duration::from_secs(11);

/// How often the first waiter looks: a foreign holder releases with a bare `DEL` and wakes nobody.
const FIRST_LOOKS: Duration = Duration::from_secs(1);

/// How long a waiter that was handed the lock has to confirm it.
const GRANT_TTL: Duration = Duration::from_secs(2);

/// How long a key's counter outlives its last acquisition. Longer than any two clocks differ, so that the
/// time floor alone keeps tokens growing when it is gone, and short enough that a million one-off keys do
/// not stay.
const FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 2);

/// Locks on one Redis (6.2 or later) or Valkey server.
///
/// Waiters are served in the order in which they came, over all processes. A lock is a plain string key
/// that holds its owner's id, with a TTL, or a mark while several share it: programs in other languages that lock with `SET key id NX PX` and
/// release by comparing and deleting exclude us and are excluded by us. They are not queued, though: a
/// poller rarely finds the key free while our waiters wait.
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
/// The hole of every failover: a primary may die with a lock that no replica had, and the new one grants it a second
/// time while the first holder has not heard of anything. [`RedisBuilder::synced`] closes it as far as replicas
/// acknowledge; a fence ([`FenceStore`](crate::FenceStore), or the `leasehold-sqlx` crate) makes it harmless. Tokens
/// are never less than the server's clock, in microseconds, when they are drawn. So they go on growing over a failover
/// that lost them, if the new primary's clock is past the newest of the lost tokens: if clocks differ by less than
/// a failover takes.
///
/// An old primary that was only cut off, and comes back, serves those who reach no Sentinel that knows better, until
/// it is made a replica. Tokens that both draw within the difference of their clocks need not be in order;
/// `min-replicas-to-write 1` keeps a primary without replicas from granting anything.
///
/// # Keys
///
/// `K` is the prefix and the key: the owner's id, with a TTL. Beside it, in the same slot of a Cluster:
/// `{K}:lh1:fence`, the last token and who drew it, for two days after the last acquisition;
/// `{K}:lh1:queue` and `{K}:lh1:leases` while somebody waits; `{K}:lh1:shares` while several hold it; `{K}:lh1:sealed:…` for a minute after an
/// attempt that was given up unanswered. Every key has a TTL.
///
/// # Rights
///
/// The least that a user needs, with the default prefix:
///
/// ```text
/// ~lock:* ~{lock:*}:lh1:* &leasehold:inbox:* +@connection +ping +info +time +evalsha +script|load +get +set
/// +del +exists +pexpire +pexpireat +pttl +zadd +zcard +zrange +zrevrange +zrem +zremrangebyscore +zscore
/// +hget +hset +hdel +hgetall
/// +publish +subscribe
/// ```
///
/// With Sentinels `+role`, and with [`RedisBuilder::synced`] `+wait`.
///
/// Without the channels nobody is woken, and waiters poll.
pub struct Redis {
    node: Node,
    inbox: Inbox,
    copies: Copies,
    heal: bool,
    synced: Option<Synced>,
}

impl Redis {
    fn new(address: Address, heal: bool, synced: Option<Synced>) -> Self {
        let inbox = Inbox::new();
        Self {
            node: Node::new(address, inbox.clone()),
            inbox,
            copies: Copies::new(),
            heal,
            synced,
        }
    }

    /// Asks, and has replicas acknowledge a grant if that was wished for.
    async fn acquire(&self, attempt: &Attempt) -> Result<Verdict, BackendError> {
        let ask = async |command: &Cmd| self.node.call(command).await;
        let verdict = self.ask(attempt, ask).await?;
        match (&verdict, self.synced) {
            (Verdict::Granted(_), Some(synced)) => self.confirm(attempt, synced).await,
            _ => Ok(verdict),
        }
    }

    /// Sends a request, and keeps account of its copies.
    async fn ask(
        &self,
        attempt: &Attempt,
        send: impl AsyncFnOnce(&Cmd) -> Result<Value, BackendError>,
    ) -> Result<Verdict, BackendError> {
        let expiry = match self.copies.expiry() {
            Some(expiry) => expiry,
            None => self.ask_time().await?,
        };
        let command = self.request(attempt, expiry);
        let sent = Moment::now();
        let copy = self.copies.sending(attempt.owner, expiry);
        let answer = send(&command).await;
        if answer
            .as_ref()
            .map_or_else(|e| e.applied() == Applied::No, |_| true)
        {
            copy.answered();
        }
        let acquired = answer::acquired(answer?)?;
        self.copies.learn(sent, acquired.server_micros);
        Ok(acquired.verdict)
    }

    fn request(&self, attempt: &Attempt, expiry: u64) -> Cmd {
        let names = Names::of(&attempt.key);
        let seal = names.seal(attempt.owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let giver = attempt.giver.map(|giver| giver.to_string());
        let givers_seal = attempt.giver.map(|giver| names.seal(giver));
        script::ACQUIRE.call(
            &[
                lock,
                fence,
                queue,
                leases,
                shares,
                &seal,
                givers_seal.as_deref().unwrap_or(&seal),
            ],
            &[
                &attempt.owner.to_string(),
                &millis(attempt.ttl),
                flag(attempt.queue),
                self.inbox.channel(),
                &expiry.to_string(),
                &millis(WAITER_LEASE),
                &millis(GRANT_TTL),
                &millis(FENCE_TTL),
                flag(self.heal),
                &written(attempt.mode),
                giver.as_deref().unwrap_or_default(),
                &millis(COPIES_LAST),
            ],
        )
    }

    async fn ask_time(&self) -> Result<u64, BackendError> {
        let sent = Moment::now();
        let time = self.node.call(&redis::cmd("TIME")).await?;
        let (seconds, micros): (u64, u64) = answer::read(time)?;
        self.copies.learn(sent, seconds * 1_000_000 + micros);
        self.copies
            .expiry()
            .ok_or_else(|| BackendError::not_applied("the server's clock is unknown"))
    }

    /// Ends whatever the owner has: true if it held the lock.
    async fn leave(&self, key: &Key, owner: OwnerId) -> Result<bool, BackendError> {
        self.inbox.leave(key, owner);
        let names = Names::of(key);
        let seal = names.seal(owner);
        let [lock, fence, queue, leases, shares] = names.all();
        let outstanding = self.copies.outstanding(owner);
        let command = script::LEAVE.call(
            &[lock, fence, queue, leases, shares, &seal],
            &[
                &owner.to_string(),
                &millis(GRANT_TTL),
                &outstanding.to_string(),
            ],
        );
        let answer: String = answer::read(self.node.call(&command).await?)?;
        if answer == "unsealed" {
            return Err(BackendError::unknown(
                "the server has no memory left to note that an attempt is over; asking again",
            ));
        }
        self.copies.forget(owner);
        Ok(answer == "left")
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

    async fn attempt(&self, attempt: &Attempt) -> Result<AttemptAnswer, BackendError> {
        let seat = attempt
            .queue
            .then(|| self.inbox.enter(&attempt.key, attempt.owner));
        match self.acquire(attempt).await? {
            Verdict::Granted(token) => Ok(AttemptAnswer::Granted {
                token,
                lease: attempt.ttl,
            }),
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

    async fn wait(&self, attempt: &Attempt) -> Result<(), BackendError> {
        if let Some(wake_up) = self.inbox.wake_up(attempt.owner) {
            wake_up.notified().await;
        }
        Ok(())
    }

    async fn renew(&self, claims: &[Claim]) -> Vec<Result<RenewAnswer, BackendError>> {
        let mut commands = Pipeline::with_capacity(claims.len());
        for claim in claims {
            commands.add_command(renewal(claim));
        }
        let answers = match self.synced {
            None => self.node.call_all(&commands, claims.len()).await,
            Some(synced) => self.insist_on(&commands, claims.len(), synced).await,
        };
        match answers {
            Ok(answers) => {
                let answers = claims.iter().zip(answers);
                answers
                    .map(|(claim, answer)| extended(claim, answer))
                    .collect()
            }
            Err(error) => vec![Err(error)],
        }
    }

    async fn downgrade(&self, claim: &Claim) -> Result<RenewAnswer, BackendError> {
        let command = script::DOWNGRADE.call(
            &Names::of(&claim.key).all(),
            &[
                &claim.owner.to_string(),
                &millis(claim.ttl),
                &claim.token.to_string(),
                &millis(GRANT_TTL),
            ],
        );
        let answer = match self.synced {
            None => self.node.call(&command).await,
            Some(synced) => self.insist(&command, synced).await,
        };
        extended(claim, answer)
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
        answer::inspected(self.node.call(&command).await?)
    }

    async fn force_release(&self, key: &Key) -> Result<bool, BackendError> {
        let names = Names::of(key);
        let command = script::FORCE.call(&names.all(), &[&millis(GRANT_TTL)]);
        let held: u8 = answer::read(self.node.call(&command).await?)?;
        Ok(held == 1)
    }

    async fn interrupted(&self, seen: u64) -> u64 {
        self.inbox.interrupted(seen).await
    }

    async fn close(&self) {
        self.node.close();
    }
}

fn renewal(claim: &Claim) -> Cmd {
    let names = Names::of(&claim.key);
    script::RENEW.call(
        &names.all(),
        &[
            &claim.owner.to_string(),
            &millis(claim.ttl),
            &claim.token.to_string(),
            &millis(FENCE_TTL),
            &written(claim.mode),
        ],
    )
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

/// A mode as the scripts read it.
fn written(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive => "x".into(),
        Mode::Shared => "s".into(),
        Mode::Permits { count, of } => format!("p{count}/{of}").into(),
    }
}

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}

fn flag(set: bool) -> &'static str {
    if set { "1" } else { "0" }
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis")
            .field("node", &self.node)
            .field("heal", &self.heal)
            .finish_non_exhaustive()
    }
}
