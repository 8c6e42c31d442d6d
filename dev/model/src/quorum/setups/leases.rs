//! Worlds in which locks expire after their TTL: two guards are never valid at the same time.

use crate::claim::Claim;
use crate::quorum::reachable::Reachable;
use crate::quorum::setup::{Clocks, Faults, Leases, Setup, Times};
use crate::quorum::world::Budget;

const LEASED: Setup = Setup {
    clocks: Clocks::Rising,
    leases: Leases::Timed,
    times: Times {
        ttl: 2,
        ..Times::NONE
    },
    faults: Faults {
        extends: true,
        ..Faults::NONE
    },
    claims: &[
        Claim::Exclusion,
        Claim::TokensDiffer,
        Claim::TokensGrow,
        Claim::NoRevival,
        Claim::NoGhost,
    ],
    reachable: &[Reachable::Extended, Reachable::LaterGuard],
    ..Setup::FREE
};

const LEAVES: Faults = Faults {
    leaves: true,
    extends: true,
    ..Faults::NONE
};

pub(super) const SETUPS: &[Setup] = &[
    Setup {
        name: "quorum-guards",
        about: "leases that end in time, and extensions",
        ..LEASED
    },
    Setup {
        name: "quorum-releases",
        about: "rounds are given up and guards released, for a short TTL",
        times: Times {
            ttl: 1,
            ..Times::NONE
        },
        faults: LEAVES,
        reachable: &[
            Reachable::TooLate,
            Reachable::Extended,
            Reachable::LaterGuard,
        ],
        ..LEASED
    },
    Setup {
        name: "quorum-leases",
        about: "extensions, releases, and copies of all requests; acquires expire",
        times: Times {
            ttl: 2,
            allowed: 2,
            ..Times::NONE
        },
        faults: Faults {
            copies: true,
            ..LEAVES
        },
        reachable: &[
            Reachable::TooLate,
            Reachable::Extended,
            Reachable::LateCopyRefused,
            Reachable::LaterGuard,
        ],
        ..LEASED
    },
    Setup {
        name: "quorum-drift",
        about: "a client's clock loses a tick, and validity leaves a margin of one",
        clocks: Clocks::Still,
        times: Times {
            ttl: 2,
            margin: 1,
            allowed: 1,
            ..Times::NONE
        },
        faults: LEAVES,
        budget: Budget {
            lags: 1,
            ..Budget::NONE
        },
        ..LEASED
    },
    Setup {
        name: "quorum-empty-nodes",
        about: "a node loses its locks, and is back after more than the longest TTL",
        clocks: Clocks::Still,
        times: Times {
            ttl: 2,
            away: 2,
            ..Times::NONE
        },
        budget: Budget {
            crashes: 1,
            ..Budget::NONE
        },
        claims: &[Claim::Exclusion],
        reachable: &[
            Reachable::VotesAgain,
            Reachable::Extended,
            Reachable::LaterGuard,
        ],
        ..LEASED
    },
    Setup {
        name: "lost-tombstones",
        about: "one round and its late copies; a node loses its tombstones, and is away until acquires expire",
        rounds: 1,
        times: Times {
            ttl: 1,
            allowed: 3,
            away: 3,
            ..Times::NONE
        },
        faults: Faults {
            leaves: true,
            ..Faults::COPIES
        },
        budget: Budget {
            crashes: 1,
            ..Budget::NONE
        },
        claims: &[Claim::NoGhost],
        reachable: &[Reachable::LateCopyRefused],
        ..LEASED
    },
];
