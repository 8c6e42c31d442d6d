//! The rules of the protocol. Each of them can be left out, to show its purpose.

use crate::claim::Claim;
use crate::macros::weakenings;

weakenings! {
    ConfirmBeforeGuard: "guard-without-confirmation", "a wake-up makes a guard, and nobody confirms",
        in "late-duplicates" breaks Exclusion Backed TokensDiffer TokensGrow;
    DeadlinePerReply: "reply-to-any-duplicate", "a slow answer to an earlier copy is taken for the answer to the last",
        in "late-duplicates" breaks Exclusion Backed;
    TtlSetAnew: "resend-keeps-ttl", "a second copy is granted, and the key's TTL is not set anew",
        in "late-duplicates" breaks Exclusion Backed;
    OwnerCompared: "release-without-owner-check", "a release deletes whoever's lock it is",
        in "foreign-lockers" breaks Exclusion Backed;
    DriftMargin: "no-clock-margin", "deadlines leave no margin for clocks that differ",
        in "drifting-clocks" breaks Exclusion Backed;
    SecondCopyDrawsNothing: "duplicate-draws-token", "a second copy draws a token of its own",
        in "late-duplicates" breaks Backed;
    DrawerDecides: "queue-position-identifies-duplicates", "the waiter's place, not the drawer's id, tells a hand-off from a second copy",
        in "rounding" breaks TokensDiffer TokensGrow Backed;
    TimeFloor: "no-time-floor", "a token is the counter plus one, whatever the time",
        in "memory-loss" breaks TokensGrow TokensDiffer NoRevival;
    TokenKept: "token-read-again", "a holder writes with the counter as it is, not with its own token",
        in "foreign-lockers" breaks Fenced;
    RenewalComparesOwner: "renewal-by-token", "a renewal compares the token, and not the owner",
        in "late-duplicates" breaks NoRevival;
    RenewalComparesToken: "renewal-by-owner", "a renewal compares the owner, and not the token",
        in "early-expiry" breaks NoRevival;
    Expiry: "no-expiry", "an acquire does not expire",
        in "late-duplicates" breaks NoGhost;
    Seal: "no-tombstone", "a release or cleanup leaves no tombstone",
        in "late-duplicates" breaks NoGhost;
    SealUntilExpiry: "tombstone-by-client-clock", "a tombstone lasts as long as the client measures, not until the acquire's expiry",
        in "overestimated-server-clock" breaks NoGhost;
    OwnPlaceRemoved: "own-position-kept", "a release or cleanup does not remove its own place",
        in "late-duplicates" breaks NoGhost;
    AllRecheck: "only-head-polls", "only the head of the queue asks again unasked",
        in "foreign-delete" breaks WaiterKept NoStall InOrder;
    OnlyThoseAhead: "any-waiter-blocks-acquire", "an acquire does not take a free lock while anybody else waits",
        in "foreign-delete" breaks NoStall;
    CleanupHandsOn: "release-without-hand-off", "a release or cleanup deletes the lock and hands it to nobody",
        in "foreign-delete" breaks NoStall;
    PauseBetweenLooks: "no-pause-between-polls", "a waiter that is told that next to nothing is left looks again at once",
        in "foreign-delete" breaks NoSpin;
    Heals: "missing-ttl-not-repaired", "a key without a TTL is left as it is",
        in "foreign-delete" breaks NoStall;
    PlaceEndsWithGrant: "position-outlives-grant", "a waiter that was handed the lock keeps the whole lease on its place",
        in "deaths" breaks NoStall;
    DeafPassedOver: "unsubscribed-are-granted", "a waiter is handed the lock although nobody listens for it",
        in "deaths" breaks NoStall;
    FirstOfProcessLooks: "only-head-polls-at-expiry", "only the head of the queue looks when a lease runs out",
        in "deaths" breaks NoStall;
    QueueBeforeFree: "queue-ignored", "an acquire takes a free lock whoever waits",
        in "foreign-delete" breaks InOrder;
    PlaceKeptToConfirm: "position-removed-at-grant", "a waiter loses its place when it is handed the lock",
        in "foreign-delete" breaks InOrder;
    UnfairHasNoTurn: "unfair-are-granted", "a waiter without an order is handed the lock in its turn",
        in "unfair" breaks NoStall;
    UnfairAllNotified: "one-unfair-is-notified", "a release wakes only the first of the waiters without an order",
        in "unfair" breaks NoStall;
    UnfairAllLook: "one-unfair-polls", "only the first of the waiters without an order looks when a lease runs out",
        in "unfair" breaks NoStall;
    PassAges: "hand-off-lease-from-receipt", "a lease that was passed on counts from when its waiter hears of it, not from the release",
        in "hand-off" breaks Backed;
    PassDrawnByWaiter: "hand-off-token-by-previous-holder", "the token that is passed on is noted as drawn by who gave the lock up",
        in "hand-off" breaks Backed;
    PassInOrder: "hand-off-out-of-turn", "the lock is passed on inside the process, whoever waits in front",
        in "two-processes" breaks InOrder;
    PassForGrant: "hand-off-for-ttl", "what is passed on has its whole TTL, whether or not its waiter takes it",
        in "long-leases" breaks NoStall;
    PassLeaseOfGrant: "hand-off-accepted-for-ttl", "a waiter takes the lease of what was passed on for its whole TTL",
        in "hand-off" breaks Backed;
    PassedByHolder: "hand-off-without-owner-check", "a release passes the lock on to a parked waiter, whoever holds it",
        in "parked" breaks Backed;
    NamedUnsealed: "tombstone-of-parked-ignored", "a release asks on behalf of a parked waiter that has left a tombstone",
        in "parked" breaks NoGhost;
    NamingNoted: "release-for-parked-not-noted", "a parked waiter does not note that a release asks on its behalf, and leaves no tombstone",
        in "parked" breaks NoGhost;
    ParkedInOrder: "parked-out-of-turn", "the lock is passed on to a parked waiter, whoever is in the queue",
        in "parked-two-processes" breaks InOrder;
    BatchReadsAgain: "batch-reads-once", "an acquire in a batch is judged by what was read before the batch's releases",
        in "batches" breaks NoGhost;
    ReleasesRepeated: "releases-not-repeated", "after a planned failover the new primary is not told of recent releases",
        in "promotion" breaks NoGhost NoStall;
    RecordComparesOwner: "record-without-owner-check", "a record does not compare the owner",
        in "once" breaks OneOutcome OutcomesGrow NoRevival;
    RecordComparesToken: "record-by-owner", "a record compares the owner, and not the token",
        in "once-forced" breaks OutcomesGrow NoRevival;
    RecordComparesOutcome: "any-outcome-confirms", "a record is confirmed if the server keeps the outcome of any owner",
        in "once" breaks ConfirmedRecorded;
    OutcomeFirst: "outcome-not-checked", "an acquire does not check whether the server keeps an outcome",
        in "once" breaks NoSecondRun OneOutcome;
    RecordSeals: "record-without-tombstone", "a record leaves no tombstone",
        in "once" breaks NoGhost;
    FoundCleansUp: "found-without-cleanup", "an attempt that finds an outcome sends no cleanup, although duplicates of its acquire may arrive",
        in "once" breaks NoGhost;
    RecordEmptiesQueue: "record-keeps-queue", "a record does not remove the waiters from the queue",
        in "once" breaks NoGhost;
    RecordNotifies: "record-notifies-no-waiter", "a record does not notify the waiters",
        in "once-deaths" breaks NoStall;
}
