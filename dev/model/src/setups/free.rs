//! Worlds without time limits. Their claims do not depend on timely messages.

use crate::claim::{Claim, Reachable};
use crate::setup::{Faults, Pace, Setup};
use crate::times::Times;
use crate::world::Budget;

const ALL_SAFE: &[Claim] = &[
    Claim::Exclusion,
    Claim::Backed,
    Claim::TokensDiffer,
    Claim::TokensGrow,
    Claim::Fenced,
    Claim::NoRevival,
    Claim::NoGhost,
];

/// The lock may have two holders after its key was deleted, but tokens are still correct.
const ALL_BUT_EXCLUSION: &[Claim] = &[
    Claim::TokensDiffer,
    Claim::TokensGrow,
    Claim::Fenced,
    Claim::NoRevival,
    Claim::NoGhost,
];

const ALL_ONCE: &[Claim] = &[
    Claim::OneOutcome,
    Claim::OutcomesGrow,
    Claim::NoSecondRun,
    Claim::ConfirmedRecorded,
    Claim::Exclusion,
    Claim::Backed,
    Claim::TokensDiffer,
    Claim::TokensGrow,
    Claim::NoRevival,
    Claim::NoGhost,
];

const ALL_ONCE_BUT_EXCLUSION: &[Claim] = &[
    Claim::OneOutcome,
    Claim::OutcomesGrow,
    Claim::NoSecondRun,
    Claim::ConfirmedRecorded,
    Claim::TokensDiffer,
    Claim::TokensGrow,
    Claim::NoRevival,
    Claim::NoGhost,
];

/// Short leases keep these worlds small.
const ONCE_TIMES: Times = Times {
    ttl: 1,
    place: 1,
    ..Times::FREE
};

const LATE: Faults = Faults {
    late_copies: true,
    cancels: true,
    ..Faults::NONE
};

const FREE: Setup = Setup {
    name: "",
    about: "",
    attempts: 2,
    process_of: [0, 1, 2],
    pace: Pace::Free,
    times: Times::FREE,
    looks_after_expiry: 0,
    parks: false,
    batches: false,
    unfair: false,
    once: false,
    faults: LATE,
    budget: Budget::NONE,
    claims: ALL_SAFE,
    reachable: &[Reachable::HandOffConfirmed, Reachable::LaterGuard],
    weakening: None,
    looks_for: None,
    anonymous: false,
};

pub(super) const SETUPS: &[Setup] = &[
    Setup {
        name: "late-duplicates",
        about: "requests and answers late, lost and doubled; acquires dropped; processes that fall silent",
        reachable: &[
            Reachable::HandOffConfirmed,
            Reachable::SecondCopyGranted,
            Reachable::LaterGuard,
            Reachable::LateCopyRefused,
            Reachable::RenewalRefused,
        ],
        ..FREE
    },
    Setup {
        name: "three-attempts",
        about: "the same with three attempts",
        attempts: 3,
        anonymous: true,
        ..FREE
    },
    Setup {
        name: "hand-off",
        about: "the same with two tasks of one process, which pass the lock on",
        process_of: [0, 0, 0],
        reachable: &[
            Reachable::PassedOn,
            Reachable::HandOffConfirmed,
            Reachable::SecondCopyGranted,
            Reachable::LaterGuard,
            Reachable::LateCopyRefused,
            Reachable::RenewalRefused,
        ],
        ..FREE
    },
    Setup {
        name: "hand-off-three",
        about: "the same with three tasks of one process",
        attempts: 3,
        process_of: [0, 0, 0],
        reachable: &[Reachable::PassedOn, Reachable::LaterGuard],
        anonymous: true,
        ..FREE
    },
    Setup {
        name: "parked",
        about: "two tasks of one process; a release asks on behalf of one that is parked",
        process_of: [0, 0, 0],
        parks: true,
        reachable: &[
            Reachable::PassedToParked,
            Reachable::HandOffConfirmed,
            Reachable::SecondCopyGranted,
            Reachable::LaterGuard,
            Reachable::LateCopyRefused,
        ],
        ..FREE
    },
    Setup {
        name: "batches",
        about: "two tasks of one process, whose releases and acquires go to the server together",
        process_of: [0, 0, 0],
        batches: true,
        reachable: &[
            Reachable::Together,
            Reachable::PassedOn,
            Reachable::SecondCopyGranted,
            Reachable::LateCopyRefused,
        ],
        ..FREE
    },
    Setup {
        name: "unsubscribed-processes",
        about: "the same, and processes stop listening and begin again",
        faults: Faults {
            deafness: true,
            ..LATE
        },
        reachable: &[Reachable::DeafPassedOver],
        ..FREE
    },
    Setup {
        name: "foreign-lockers",
        about: "the same, beside programs that lock with SET NX PX; holders write to a fenced resource",
        faults: Faults {
            foreign_lockers: true,
            writes: true,
            ..LATE
        },
        ..FREE
    },
    Setup {
        name: "short-ttl",
        about: "a TTL shorter than the grant's",
        times: Times {
            ttl: 1,
            grant: 2,
            grant_place: 2,
            ..Times::FREE
        },
        ..FREE
    },
    Setup {
        name: "rounding",
        about: "the place of a waiter that was handed the lock ends a little before the lock's key",
        times: Times {
            grant: 2,
            grant_place: 1,
            ..Times::FREE
        },
        ..FREE
    },
    Setup {
        name: "drifting-clocks",
        about: "a client's clock loses a tick, and deadlines leave a margin of one",
        times: Times {
            ttl: 3,
            margin: 1,
            ..Times::FREE
        },
        budget: Budget {
            lags: 1,
            ..Budget::NONE
        },
        ..FREE
    },
    Setup {
        name: "overestimated-server-clock",
        about: "clients take the server's clock to be ahead of what it is",
        times: Times {
            news: 2,
            seal_margin: 1,
            ..Times::FREE
        },
        ..FREE
    },
    Setup {
        name: "early-expiry",
        about: "the key is deleted, overwritten and forced open at any time; late copies",
        faults: Faults {
            meddling: true,
            force: true,
            cancels: false,
            ..LATE
        },
        claims: ALL_BUT_EXCLUSION,
        reachable: &[Reachable::KeyTakenAway, Reachable::LaterGuard],
        ..FREE
    },
    Setup {
        name: "early-expiry-three",
        about: "the key is deleted and overwritten at any time; three attempts that write to a fenced resource",
        attempts: 3,
        faults: Faults {
            meddling: true,
            writes: true,
            ..Faults::NONE
        },
        claims: ALL_BUT_EXCLUSION,
        anonymous: true,
        ..FREE
    },
    Setup {
        name: "memory-loss",
        about: "the server forgets everything, twice; its clock goes on",
        budget: Budget {
            memory_losses: 2,
            ..Budget::NONE
        },
        claims: &[Claim::TokensDiffer, Claim::TokensGrow, Claim::NoRevival],
        ..FREE
    },
    Setup {
        name: "once",
        about: "holders record outcomes; records and acquires late, lost and duplicated; acquires dropped",
        once: true,
        claims: ALL_ONCE,
        reachable: &[
            Reachable::OutcomeFound,
            Reachable::LateOutcomeRefused,
            Reachable::SecondCopyRecorded,
            Reachable::NextOutcome,
            Reachable::HandOffConfirmed,
            Reachable::LateCopyRefused,
        ],
        times: ONCE_TIMES,
        anonymous: true,
        ..FREE
    },
    Setup {
        name: "once-forced",
        about: "the same, and the lock is force-released at any time",
        once: true,
        faults: Faults {
            force: true,
            cancels: false,
            ..LATE
        },
        claims: ALL_ONCE_BUT_EXCLUSION,
        reachable: &[
            Reachable::OutcomeFound,
            Reachable::LateOutcomeRefused,
            Reachable::NextOutcome,
        ],
        times: ONCE_TIMES,
        anonymous: true,
        ..FREE
    },
];
