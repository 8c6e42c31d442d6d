//! The checked properties, and the events that each world must contain, so that no property holds only because nothing
//! happens.

use crate::macros::reachable;

/// A property of every state.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr, strum::VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// Two guards are never valid at the same time, and no guard is valid while a foreign program holds the lock.
    Exclusion,
    /// The server has the lock for each valid guard, with its token. So a renewal of the guard succeeds.
    Backed,
    /// I1: no two guards share a token.
    TokensDiffer,
    /// I2: a guard whose attempt began after another had been granted has the larger token.
    TokensGrow,
    /// I3: a resource that refuses smaller tokens never accepts a write of a holder after a write of a later holder.
    Fenced,
    /// No renewal or record succeeds for an attempt that does not hold the lock, or after a later attempt was granted.
    NoRevival,
    /// After the answer to its release or cleanup, an attempt neither holds the lock nor has a queue position.
    NoGhost,
    /// Every living waiter has the lock or a queue position, or polls within a refresh interval.
    WaiterKept,
    /// If an attempt waits, the lock is without a living holder only for as long as the faults so far explain.
    NoStall,
    /// No waiter sends more than three requests while no time passes.
    NoSpin,
    /// The lock is never granted before an earlier waiter that lives and receives notifications.
    InOrder,
    /// The server accepts no outcome while it keeps another one.
    OneOutcome,
    /// Each accepted outcome has a larger token than all outcomes accepted before.
    OutcomesGrow,
    /// No attempt is granted the lock while the server keeps an outcome.
    NoSecondRun,
    /// The server confirms only outcomes that it has accepted.
    ConfirmedRecorded,
}

impl Claim {
    /// Returns the name of the claim.
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
    OutcomeFound, "an attempt finds the outcome of another";
    LateOutcomeRefused, "the server refuses an outcome that comes too late";
    SecondCopyRecorded, "the server confirms an outcome that it has already accepted";
    NextOutcome, "after an outcome has expired, the server accepts another one";
}
