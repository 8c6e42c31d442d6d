//! Worlds with fast messages and timely clients. They check how long waiters wait, and in which order they are served.

use crate::claim::{Claim, Reachable};
use crate::setup::{Faults, Pace, Setup};
use crate::times::Times;
use crate::world::Budget;

const ALL_LIVE: &[Claim] = &[
    Claim::Exclusion,
    Claim::Backed,
    Claim::NoGhost,
    Claim::WaiterKept,
    Claim::NoStall,
    Claim::NoSpin,
    Claim::InOrder,
];

const ALL_BUT_ORDER: &[Claim] = &[
    Claim::Exclusion,
    Claim::Backed,
    Claim::NoGhost,
    Claim::WaiterKept,
    Claim::NoStall,
    Claim::NoSpin,
];

const PROMPT: Setup = Setup {
    name: "",
    about: "",
    attempts: 3,
    process_of: [0, 1, 2],
    pace: Pace::Prompt,
    times: Times::PROMPT,
    looks_after_expiry: 0,
    parks: false,
    batches: false,
    unfair: false,
    once: false,
    faults: Faults::NONE,
    budget: Budget::NONE,
    claims: ALL_LIVE,
    reachable: &[
        Reachable::HandOffConfirmed,
        Reachable::ServedAfterDeath,
        Reachable::LongestStall,
    ],
    weakening: None,
    looks_for: None,
    anonymous: false,
};

const ONE_DEATH: Budget = Budget {
    deaths: 1,
    ..Budget::NONE
};

const TWO_DEATHS: Budget = Budget {
    deaths: 2,
    ..Budget::NONE
};

pub(super) const SETUPS: &[Setup] = &[
    Setup {
        name: "deaths",
        about: "three processes; two of them, or tasks in them, die",
        budget: TWO_DEATHS,
        ..PROMPT
    },
    Setup {
        name: "deaths-and-cancels",
        about: "three processes; one of them, or a task in it, dies; acquires dropped",
        faults: Faults {
            cancels: true,
            ..Faults::NONE
        },
        budget: ONE_DEATH,
        ..PROMPT
    },
    Setup {
        name: "one-process",
        about: "three tasks of one process, two of which die without a cleanup",
        process_of: [0, 0, 0],
        looks_after_expiry: Times::PROMPT.refresh - 1,
        budget: TWO_DEATHS,
        reachable: &[
            Reachable::PassedOn,
            Reachable::HandOffConfirmed,
            Reachable::ServedAfterDeath,
            Reachable::LongestStall,
        ],
        ..PROMPT
    },
    Setup {
        name: "two-processes",
        about: "two tasks of one process and one of another; two die",
        process_of: [0, 0, 1],
        looks_after_expiry: Times::PROMPT.refresh - 1,
        budget: TWO_DEATHS,
        reachable: &[
            Reachable::PassedOn,
            Reachable::HandOffConfirmed,
            Reachable::ServedAfterDeath,
            Reachable::LongestStall,
        ],
        ..PROMPT
    },
    Setup {
        name: "long-leases",
        about: "three tasks of one process with leases that outlast two looks; one of them dies",
        process_of: [0, 0, 0],
        looks_after_expiry: Times::PROMPT.refresh - 1,
        times: Times {
            ttl: 6,
            ..Times::PROMPT
        },
        budget: ONE_DEATH,
        reachable: &[Reachable::PassedOn, Reachable::ServedAfterDeath],
        ..PROMPT
    },
    Setup {
        name: "parked-two-processes",
        about: "two tasks of one process, of which one may be parked, and one of another; one dies",
        process_of: [0, 0, 1],
        looks_after_expiry: Times::PROMPT.refresh - 1,
        parks: true,
        batches: true,
        budget: ONE_DEATH,
        reachable: &[
            Reachable::PassedToParked,
            Reachable::PassedOn,
            Reachable::Together,
            Reachable::HandOffConfirmed,
            Reachable::ServedAfterDeath,
        ],
        ..PROMPT
    },
    Setup {
        name: "unfair",
        about: "three attempts that wait without an order, in two processes; two die",
        process_of: [0, 0, 1],
        unfair: true,
        budget: TWO_DEATHS,
        claims: ALL_BUT_ORDER,
        reachable: &[Reachable::ServedAfterDeath, Reachable::LongestStall],
        ..PROMPT
    },
    Setup {
        name: "lost-notifications",
        about: "a wake-up is lost, and one process or task dies",
        budget: Budget {
            lost_hints: 1,
            ..ONE_DEATH
        },
        // A waiter without a timely notification moves to the end of the queue.
        claims: ALL_BUT_ORDER,
        ..PROMPT
    },
    Setup {
        name: "reconnections",
        about: "a process loses its connection and finds it again, and one dies",
        faults: Faults {
            deafness: true,
            ..Faults::NONE
        },
        budget: Budget {
            disconnections: 1,
            ..ONE_DEATH
        },
        reachable: &[Reachable::DeafPassedOver, Reachable::ServedAfterDeath],
        ..PROMPT
    },
    Setup {
        name: "foreign-release",
        about: "a foreign program takes the lock and releases it, which wakes nobody; acquires dropped",
        faults: Faults {
            foreign_lockers: true,
            cancels: true,
            ..Faults::NONE
        },
        budget: Budget {
            foreign: 1,
            ..Budget::NONE
        },
        reachable: &[Reachable::HandOffConfirmed],
        ..PROMPT
    },
    Setup {
        name: "foreign-delete",
        about: "the key is deleted, or overwritten without a TTL; acquires dropped",
        faults: Faults {
            meddling: true,
            cancels: true,
            ..Faults::NONE
        },
        budget: Budget {
            foreign: 1,
            ..Budget::NONE
        },
        claims: &[
            Claim::NoGhost,
            Claim::WaiterKept,
            Claim::NoStall,
            Claim::NoSpin,
            Claim::InOrder,
        ],
        reachable: &[Reachable::KeyTakenAway, Reachable::HandOffConfirmed],
        ..PROMPT
    },
    Setup {
        name: "promotion",
        about: "another server takes over, and the old one goes on serving until all clients follow; acquires dropped",
        faults: Faults {
            cancels: true,
            ..Faults::NONE
        },
        budget: Budget {
            promotions: 1,
            ..Budget::NONE
        },
        // Grants that only the old primary knows are repeated, so only the fence protects. Waiters queue again.
        claims: &[
            Claim::TokensDiffer,
            Claim::TokensGrow,
            Claim::NoRevival,
            Claim::NoGhost,
            Claim::WaiterKept,
            Claim::NoStall,
            Claim::NoSpin,
        ],
        reachable: &[Reachable::HandOffConfirmed, Reachable::SecondHolder],
        anonymous: true,
        ..PROMPT
    },
    Setup {
        name: "once-deaths",
        about: "holders record outcomes, or release without one; one process or task dies",
        once: true,
        budget: ONE_DEATH,
        claims: &[
            Claim::OneOutcome,
            Claim::OutcomesGrow,
            Claim::NoSecondRun,
            Claim::ConfirmedRecorded,
            Claim::Exclusion,
            Claim::Backed,
            Claim::NoRevival,
            Claim::NoGhost,
            Claim::WaiterKept,
            Claim::NoStall,
            Claim::NoSpin,
            Claim::InOrder,
        ],
        reachable: &[
            Reachable::OutcomeFound,
            Reachable::NextOutcome,
            Reachable::ServedAfterDeath,
            Reachable::LongestStall,
        ],
        anonymous: true,
        ..PROMPT
    },
];
