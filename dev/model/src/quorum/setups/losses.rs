//! Worlds in which nodes lose all or a part of their state. Locks expire at any time, and clocks are bounded.

use crate::quorum::reachable::Reachable;
use crate::quorum::setup::{Clocks, Faults, Setup, Times};
use crate::quorum::world::Budget;

const ONE_CRASH: Budget = Budget {
    crashes: 1,
    ..Budget::NONE
};

const OLD_STATE: Budget = Budget {
    saves: 1,
    ..ONE_CRASH
};

/// Clocks differ by one tick, and nodes follow a hint for one tick.
const RESTARTS: Setup = Setup {
    clocks: Clocks::Within {
        epsilon: 1,
        ahead: 1,
    },
    times: Times {
        away: 2,
        ..Times::NONE
    },
    budget: ONE_CRASH,
    reachable: &[Reachable::VotesAgain, Reachable::LaterGuard],
    ..Setup::FREE
};

pub(super) const SETUPS: &[Setup] = &[
    Setup {
        name: "quorum-restarts",
        about: "a node loses all it has, and is back after more than what clocks and hints may be ahead",
        ..RESTARTS
    },
    Setup {
        name: "quorum-old-state",
        about: "a node goes back to an older state, and is away for longer than guards may still be made",
        clocks: Clocks::Within {
            epsilon: 0,
            ahead: 0,
        },
        times: Times {
            ttl: 3,
            away: 3,
            ..Times::NONE
        },
        budget: OLD_STATE,
        reachable: &[Reachable::OlderState, Reachable::LaterGuard],
        ..Setup::FREE
    },
    Setup {
        name: "quorum-idle",
        about: "counters expire once they were idle for longer than clocks differ",
        clocks: Clocks::Within {
            epsilon: 1,
            ahead: 0,
        },
        times: Times {
            idle: 1,
            ..Times::NONE
        },
        reachable: &[Reachable::CounterExpired, Reachable::LaterGuard],
        ..Setup::FREE
    },
    Setup {
        name: "one-server",
        about: "one server; twice another with an older state takes over, after longer than clocks differ",
        nodes: 1,
        rounds: 3,
        clocks: Clocks::Within {
            epsilon: 1,
            ahead: 0,
        },
        times: Times {
            away: 1,
            ..Times::NONE
        },
        faults: Faults::COPIES,
        budget: Budget {
            crashes: 2,
            saves: 2,
            ..Budget::NONE
        },
        reachable: &[Reachable::LaterGuard],
        ..Setup::FREE
    },
];

pub(super) const LARGE: &[Setup] = &[
    Setup {
        name: "two-restarts",
        about: "the same, twice",
        budget: Budget {
            crashes: 2,
            ..Budget::NONE
        },
        ..RESTARTS
    },
    Setup {
        name: "restarts-and-duplicates",
        about: "a node loses all it has; every request comes as often and as late as it likes",
        faults: Faults::COPIES,
        ..RESTARTS
    },
    Setup {
        name: "old-state-and-hints",
        about: "a node goes back to an older state; hints may be a tick ahead",
        clocks: Clocks::Within {
            epsilon: 0,
            ahead: 1,
        },
        times: Times {
            ttl: 3,
            away: 3,
            ..Times::NONE
        },
        budget: OLD_STATE,
        reachable: &[Reachable::OlderState, Reachable::LaterGuard],
        ..Setup::FREE
    },
];
