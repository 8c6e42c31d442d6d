//! Random histories of two keys and six actors against the in-process backend, in virtual time.
//!
//! Each answer is compared with that of a [`model`], and is held by a [`ledger`] against what the
//! callers were told before: the ledger knows only the promises, so a mistake that the model shares
//! with the backend does not pass it.
//!
//! - P1: no two unexpired leases on one key.
//! - P2: the tokens of a key's acquisitions grow; a holder that asks again gets the token it has.
//! - P3: the lock goes to whoever has stood in line longest, and nobody overtakes.
//! - P4: `inspect` shows just that, and a key which is free has nobody waiting for it.
//! - P5: who is handed the lock is woken; who is not is left asleep.
//!
//! At the end everybody falls silent, and a day later every key can be taken at once.

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

use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};

use self::model::Model;
use self::step::{KEYS, Step};
use self::tally::Tally;
use self::world::World;

const CASES: u32 = 10_000;

/// Of each event that a history may contain, so many were checked at the very least.
const ENOUGH: u64 = 1_000;

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
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    fn run_all_histories(sequential 20..60 => InProcessTest);
}

#[test]
fn every_history_keeps_the_promises() {
    run_all_histories();
    let total = TOTAL.lock().unwrap();
    println!("{CASES} histories: {total:?}");
    assert!(total.least() > ENOUGH, "{total:?}");
}
