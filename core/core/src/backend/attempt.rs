//! One attempt to acquire: owner, key, mode and TTL.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::attempt_values::AttemptState;
use crate::mode::Mode;
use crate::{AttemptId, FencingToken, Key};

/// One acquisition. The manager creates the attempt before it sends the first request. The attempt does not change
/// until it ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Attempt {
    /// The key to lock.
    pub key: Key,
    /// The id of this attempt, which no other attempt has.
    pub owner: AttemptId,
    /// The duration of the lease, from the moment when the backend grants the lock.
    pub ttl: Duration,
    /// Whether the caller queues if the lock is busy. If this is false and the lock is busy, the backend stores nothing
    /// about the attempt.
    pub queue: bool,
    /// Whether a waiter has its turn in the queue. If this is false, the backend does not grant the lock to the waiting
    /// caller in its turn, but notifies the caller of each release. The first caller that then sends its attempt
    /// acquires the lock. So a waiter that does not respond delays no other waiter. A backend may ignore this.
    pub fair: bool,
    /// The mode in which to hold the lock.
    pub mode: Mode,
    /// The handover that this attempt accepts; `None` for an attempt that waits for the lock.
    pub handover: Option<Box<Handover>>,
    /// How soon the caller wants a reply, even if the lock is busy. A backend may wait for a part of this time if it
    /// may grant the lock to the caller in that time.
    pub answer_within: Duration,
    /// Whether the caller renews the lease without further requests by the user. Such a caller renews early if the
    /// granted lease is much shorter than `ttl`. If this is true, a backend may grant a shorter lease first, to save a
    /// request. The first renewal extends the lease to `ttl`.
    pub renewed: bool,
    /// Whether a recorded outcome ends the attempt. If the backend keeps an outcome for the key, the backend returns
    /// the outcome and does not grant the lock. The manager sets this only if the backend has the capability `once`.
    pub once: bool,
    /// The name of the lock in metrics.
    pub(crate) name: Option<&'static str>,
    state: AttemptState,
}

impl Attempt {
    /// Creates an attempt with a new owner id.
    #[must_use]
    pub fn new(key: Key, ttl: Duration, queue: bool) -> Self {
        Self::by(AttemptId::random(), key, ttl, queue)
    }

    /// Creates an attempt with `owner`, which no other attempt uses.
    pub(crate) const fn by(owner: AttemptId, key: Key, ttl: Duration, queue: bool) -> Self {
        Self {
            key,
            owner,
            ttl,
            queue,
            fair: true,
            mode: Mode::Exclusive,
            handover: None,
            answer_within: Duration::MAX,
            renewed: false,
            once: false,
            name: None,
            state: AttemptState::new(),
        }
    }

    /// Sets the mode.
    #[must_use]
    pub const fn in_mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets whether a waiter has its turn in the queue. See the field `fair`.
    #[must_use]
    pub const fn fair(mut self, fair: bool) -> Self {
        self.fair = fair;
        self
    }

    /// Sets the handover that the attempt accepts.
    #[must_use]
    pub fn taking_up(mut self, handover: Option<Box<Handover>>) -> Self {
        self.handover = handover;
        self
    }

    /// Sets the time within which the caller wants a reply.
    #[must_use]
    pub const fn answered_within(mut self, limit: Duration) -> Self {
        self.answer_within = limit;
        self
    }

    /// Sets whether the caller renews the lease. See the field `renewed`.
    #[must_use]
    pub const fn renewed(mut self, renewed: bool) -> Self {
        self.renewed = renewed;
        self
    }

    /// Sets whether a recorded outcome ends the attempt. See the field `once`.
    #[must_use]
    pub const fn once(mut self, once: bool) -> Self {
        self.once = once;
        self
    }

    /// Sets the name of the lock in metrics.
    pub(crate) const fn named(mut self, name: Option<&'static str>) -> Self {
        self.name = name;
        self
    }

    /// Returns the value that the backend keeps in this process for this attempt. The first call creates the value with
    /// `new`. All later calls with the same type return that value. Copies of the attempt share it, and so do claims that
    /// are made after the first call. The value is dropped with the last of them, so a backend needs no map of its
    /// attempts.
    ///
    /// Use a type of your own. If your backend passes attempts to several backends of one type, create an attempt for each
    /// of them. Otherwise they share their values.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use std::time::Duration;
    ///
    /// use leasehold::backend::Attempt;
    /// use leasehold::{FencingToken, Key};
    ///
    /// #[derive(Default)]
    /// struct Requests(AtomicU32);
    ///
    /// let attempt = Attempt::new(Key::new("", "order:7")?, Duration::from_secs(30), true);
    /// attempt.state(Requests::default).0.fetch_add(1, Ordering::Relaxed);
    /// let claim = attempt.claim(FencingToken::try_from(1)?);
    /// assert_eq!(claim.state(Requests::default).0.load(Ordering::Relaxed), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn state<T: Any + Send + Sync>(&self, new: impl Fn() -> T) -> Arc<T> {
        self.state.get(new)
    }

    /// Returns the claim of this attempt, to which the backend has granted `token`.
    #[must_use]
    pub fn claim(&self, token: FencingToken) -> Claim {
        Claim {
            key: self.key.clone(),
            owner: self.owner,
            ttl: self.ttl,
            token,
            mode: self.mode,
            name: self.name,
            state: self.state.of_claim(),
        }
    }
}

/// A granted attempt: identifies the held lock in renewals and releases.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Claim {
    /// The locked key.
    pub key: Key,
    /// The id of the holder.
    pub owner: AttemptId,
    /// The duration of the lease after each renewal.
    pub ttl: Duration,
    /// The token of the grant.
    pub token: FencingToken,
    /// The mode in which the lock is held.
    pub mode: Mode,
    /// The name of the lock in metrics.
    pub(crate) name: Option<&'static str>,
    state: AttemptState,
}

impl Claim {
    /// Returns the value that the backend keeps in this process for the attempt of this claim: see [`Attempt::state`].
    pub fn state<T: Any + Send + Sync>(&self, new: impl Fn() -> T) -> Arc<T> {
        self.state.get(new)
    }
}

/// The contents of a ticket for a lock that its holder hands over. The backend compares all fields with the fields that
/// the previous holder registered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Handover {
    /// The previous holder.
    pub giver: AttemptId,
    /// The token of the previous holder.
    pub token: FencingToken,
    /// The secret that only the backend and the ticket contain.
    pub secret: HandoverSecret,
}

impl Handover {
    /// Creates the handover of a claim.
    #[must_use]
    pub const fn new(claim: &Claim, secret: HandoverSecret) -> Self {
        Self {
            giver: claim.owner,
            token: claim.token,
            secret,
        }
    }
}

/// A random secret for one handover. Inspections and logs do not contain the secret.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HandoverSecret(AttemptId);

impl HandoverSecret {
    /// Generates an unguessable secret.
    ///
    /// # Panics
    ///
    /// Panics if the operating system cannot generate random numbers.
    #[must_use]
    pub fn random() -> Self {
        Self(AttemptId::random())
    }

    /// Returns the secret as text, for backends and tickets.
    #[must_use]
    pub fn reveal(self) -> String {
        self.0.reveal()
    }

    /// Parses the text that [`reveal`](Self::reveal) returned.
    pub(crate) fn read(text: &str) -> Option<Self> {
        AttemptId::read(text).map(Self)
    }

    pub(super) const fn to_bytes(self) -> [u8; 16] {
        self.0.to_bytes()
    }

    pub(super) const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(AttemptId::from_bytes(bytes))
    }
}

impl fmt::Debug for HandoverSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HandoverSecret(..)")
    }
}
