//! The explorations.

/// Tests that only get better with time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exploration {
    /// The name.
    pub name: &'static str,
    /// The package of the tests.
    pub package: &'static str,
    /// The selection of its tests, as arguments of `cargo test`.
    pub tests: &'static str,
    /// How many times the budget of `cargo test` it gets in a round.
    pub depth: u32,
    /// Whether a seed changes what it does. If not, it runs only in the first round.
    pub is_seeded: bool,
}

/// All explorations.
pub const ALL: [Exploration; 18] = [
    seeded(
        "simulation: seeds",
        "leasehold-simulation",
        "--test it seeds::every_seed",
        20,
    ),
    seeded(
        "simulation: scripts",
        "leasehold-simulation",
        "--test it equal::",
        20,
    ),
    seeded(
        "simulation: seeded bugs",
        "leasehold-simulation",
        "--test it seeded_bugs::",
        1,
    ),
    seeded(
        "histories in process",
        "leasehold-core",
        "--test it histories",
        20,
    ),
    seeded(
        "state machine in process",
        "leasehold-core",
        "--test it state_machine::",
        20,
    ),
    seeded(
        "histories on Redis",
        "leasehold-redis",
        "--test it histories::",
        50,
    ),
    seeded(
        "state machine on Redis",
        "leasehold-redis",
        "--test it state_machine::",
        50,
    ),
    seeded(
        "batches on Redis",
        "leasehold-redis",
        "--test it single::batch_equivalence",
        10,
    ),
    seeded(
        "failovers that lose tokens",
        "leasehold-redis",
        "--test it sentinel::tokens",
        6,
    ),
    seeded("invalid replies", "leasehold-redis", "--test hostile", 10),
    seeded("invalid input", "leasehold-redis", "--lib almost_valid", 20),
    seeded(
        "invalid input on ZooKeeper",
        "leasehold-zookeeper",
        "--lib almost_valid",
        20,
    ),
    seeded("histories on SQL", "leasehold-sql", "--test it histor", 8),
    seeded(
        "statements on SQL",
        "leasehold-sqlx",
        "--test it statements::",
        30,
    ),
    seeded("races on SQL", "leasehold-sqlx", "--test it races::", 8),
    seeded("killed commands", "leasehold-cli", "--test it rounds::", 20),
    seeded("faults and data", "leasehold-nemesis", "--test it", 8),
    Exploration {
        name: "all states of the models",
        package: "leasehold-model",
        tests: "--test it",
        depth: 1,
        is_seeded: false,
    },
];

const fn seeded(
    name: &'static str,
    package: &'static str,
    tests: &'static str,
    depth: u32,
) -> Exploration {
    Exploration {
        name,
        package,
        tests,
        depth,
        is_seeded: true,
    }
}
