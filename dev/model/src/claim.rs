//! What holds, and what must be possible lest it hold for want of anything happening.

use crate::macros::reachable;

/// A property of every state.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// Two guards are never both valid, nor one while a foreign program holds the lock.
    Exclusion,
    /// The server has the lock in the name of every valid guard, under its token: its renewal is accepted.
    Backed,
    /// I1: no two guards share a token.
    TokensDiffer,
    /// I2: a guard whose attempt began after another had been granted has the larger token.
    TokensGrow,
    /// I3: a resource that takes no smaller token than it has seen never takes a write of one holder after
    /// a write of a later one.
    Fenced,
    /// No renewal succeeds for one that does not hold the lock, or after a later attempt was granted.
    NoRevival,
    /// Once a release or cleanup was answered, its attempt neither holds the lock nor has a place.
    NoGhost,
    /// Every living waiter has the lock, a place, or a look ahead within a refresh.
    NobodyForgotten,
    /// The lock is in no living hands while somebody waits for no longer than the dead, and what was lost,
    /// account for.
    NoStall,
    /// No waiter asks more than three times while no time passes: the protocol does not spin.
    NoSpin,
    /// Nobody is granted before a waiter who came earlier, lives and listens.
    InOrder,
}

impl Claim {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

reachable! {
    HandOffConfirmed, "a waiter confirms a lock that was handed to it";
    SecondCopyGranted, "a second copy of an acquire is granted";
    LaterGuard, "an attempt that began after a grant gets a guard of its own";
    LateCopyRefused, "an acquire comes too late and is refused";
    RenewalRefused, "a renewal comes from one that does not hold the lock";
    DeafPassedOver, "a waiter that does not listen is passed over";
    ServedAfterDeath, "a waiter is served after another contender has died";
    PassedOn, "a release passes the lock on to a waiter of its process";
    PassedToParked, "a release passes the lock on to a waiter that is parked";
    Together, "a release and the acquire of another are carried out in one call";
    LongestStall, "the lock is in no living hands for as long as is allowed";
    KeyTakenAway, "somebody deletes the lock's key";
    SecondHolder, "after a planned failover a second guard is granted beside a valid one";
}
