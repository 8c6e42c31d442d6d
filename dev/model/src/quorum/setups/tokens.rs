//! Worlds in which locks expire at any time and no node loses its state: the lock may have two holders, but tokens are
//! correct.

use crate::claim::Claim;
use crate::quorum::reachable::Reachable;
use crate::quorum::setup::{Clocks, Faults, Setup};

const FENCED: &[Claim] = &[Claim::TokensDiffer, Claim::TokensGrow, Claim::Fenced];

const WRITES: Faults = Faults {
    writes: true,
    ..Faults::NONE
};

const AGREED: &[Reachable] = &[
    Reachable::OneRoundTrip,
    Reachable::Raised,
    Reachable::LaterGuard,
];

pub(super) const SETUPS: &[Setup] = &[
    Setup {
        name: "quorum",
        about: "three nodes, two rounds; locks expire at any time, clocks and hints show anything; a fenced resource",
        faults: WRITES,
        claims: FENCED,
        reachable: AGREED,
        ..Setup::FREE
    },
    Setup {
        name: "quorum-duplicates",
        about: "every request comes as often and as late as it likes; clocks agree, or are ahead of all tokens",
        clocks: Clocks::Rising,
        faults: Faults::COPIES,
        reachable: &[
            Reachable::Raised,
            Reachable::RaiseRefused,
            Reachable::LaterGuard,
            Reachable::SecondCopyAnswered,
            Reachable::TakenAnew,
        ],
        ..Setup::FREE
    },
    Setup {
        name: "quorum-extensions",
        about: "the same with extensions; clocks agree, or are ahead of all tokens",
        clocks: Clocks::Rising,
        faults: Faults {
            extends: true,
            ..Faults::COPIES
        },
        claims: &[Claim::TokensDiffer, Claim::TokensGrow, Claim::NoRevival],
        reachable: &[
            Reachable::Extended,
            Reachable::ExtensionRefused,
            Reachable::LaterGuard,
        ],
        ..Setup::FREE
    },
    Setup {
        name: "later-replies",
        about: "answers that come after the token was chosen count towards its quorum, unless they are larger",
        later_answers: true,
        reachable: &[Reachable::LaterAnswerCounts, Reachable::LaterGuard],
        ..Setup::FREE
    },
    Setup {
        name: "three-rounds",
        about: "three nodes, three rounds; clocks agree, or are ahead of all tokens",
        rounds: 3,
        clocks: Clocks::Rising,
        reachable: AGREED,
        ..Setup::FREE
    },
    Setup {
        name: "three-rounds-fenced",
        about: "three nodes, three rounds; clocks stand still; a fenced resource",
        rounds: 3,
        clocks: Clocks::Still,
        faults: WRITES,
        claims: FENCED,
        reachable: &[Reachable::SplitVote, Reachable::LaterGuard],
        ..Setup::FREE
    },
    Setup {
        name: "four-nodes",
        about: "four nodes, of which three are a quorum, three rounds; clocks stand still",
        nodes: 4,
        rounds: 3,
        clocks: Clocks::Still,
        reachable: &[
            Reachable::SplitVote,
            Reachable::Raised,
            Reachable::LaterGuard,
        ],
        ..Setup::FREE
    },
    Setup {
        name: "five-nodes",
        about: "five nodes, two rounds; clocks stand still",
        nodes: 5,
        clocks: Clocks::Still,
        reachable: AGREED,
        ..Setup::FREE
    },
];

pub(super) const LARGE: &[Setup] = &[
    Setup {
        name: "quorum-duplicates-any",
        about: "every request comes as often and as late as it likes; clocks and hints show anything",
        faults: Faults::COPIES,
        reachable: &[
            Reachable::RaiseRefused,
            Reachable::TakenAnew,
            Reachable::LaterGuard,
        ],
        ..Setup::FREE
    },
    Setup {
        name: "three-rounds-any",
        about: "three nodes, three rounds; clocks and hints show anything",
        rounds: 3,
        reachable: AGREED,
        ..Setup::FREE
    },
    Setup {
        name: "four-nodes-any",
        about: "four nodes, two rounds; clocks and hints show anything",
        nodes: 4,
        reachable: AGREED,
        ..Setup::FREE
    },
    Setup {
        name: "five-nodes-three",
        about: "five nodes, three rounds; clocks stand still",
        nodes: 5,
        rounds: 3,
        clocks: Clocks::Still,
        reachable: AGREED,
        ..Setup::FREE
    },
];
