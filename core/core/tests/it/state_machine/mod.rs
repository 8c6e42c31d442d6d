//! Random histories of two keys and six actors on the in-process backend, in virtual time.
//!
//! Each answer is compared with that of a [`model`], and a [`ledger`] checks it against the earlier answers. The ledger
//! only knows the guarantees, so it also finds a mistake that the model shares with the backend.
//!
//! - P1: a key never has two unexpired leases.
//! - P2: the tokens of a key grow with each acquisition. A holder that repeats its request gets its token again.
//! - P3: the lock goes to the waiter that has waited longest, and no request overtakes.
//! - P4: `inspect` returns exactly this state, and a free key does not have waiters.
//! - P5: a waiter that gets the lock is notified, and no other waiter is.
//!
//! At the end all actors stop. A day later every key can be acquired immediately.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod ledger;
mod model;
mod step;
mod tally;
mod world;

use std::sync::Mutex;

use leasehold_testkit::depth;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use proptest_state_machine::{StateMachineTest, prop_state_machine};

use self::model::Model;
use self::step::{KEYS, Step};
use self::tally::Tally;
use self::world::World;

/// The number of histories in `cargo test`.
const CASES: u64 = 500;

/// The minimum number of checks of each event that a history can contain.
const ENOUGH: u64 = 30;

static TOTAL: Mutex<Tally> = Mutex::new(Tally::NOTHING);

struct InProcessTest;

impl StateMachineTest for InProcessTest {
    type SystemUnderTest = World;
    type Reference = Model;

    fn init_test(model: &Model) -> World {
        World::new(&model.attempts)
    }

    fn apply(mut world: World, model: &Model, step: Step) -> World {
        let answers = world.carry_out(step, model);
        let touched = || (0..KEYS).filter(|key| model.touched[*key]);
        let seen: Vec<_> = touched().map(|key| world.look(key)).collect();
        assert_eq!(answers, model.answers, "the answers, and the model's");
        let expected: Vec<_> = touched().map(|key| model.seen(key)).collect();
        assert_eq!(seen, expected, "what is seen, and the model's");
        world
    }

    fn teardown(mut world: World, model: Model) {
        world.check_that_silence_frees_all();
        TOTAL.lock().unwrap().add(&model.tally);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: depth::scaled(CASES).try_into().unwrap(),
        rng_seed: RngSeed::Fixed(depth::seed()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    fn run_all_histories(sequential 20..60 => InProcessTest);
}

#[test]
fn every_history_keeps_the_guarantees() {
    run_all_histories();
    let total = TOTAL.lock().unwrap();
    println!("{total:?}");
    assert!(total.least() > depth::scaled(ENOUGH), "{total:?}");
}
