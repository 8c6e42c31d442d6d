//! Random histories of one key with twelve attempts of two processes. They run with the real scripts on a real server.
//!
//! Each answer, and the complete state of the key on the server, is compared with a [`model`]. Time is an event of the
//! history: a step ends the lock or a queue position of any attempt, as if the server's clock had jumped. Other
//! programs acquire and delete the key, the process of a waiter stops listening, and the counter is lost.
//!
//! Each step checks the holder and the order of the queue. A lock is not granted while another attempt holds it, or
//! before an earlier waiter that receives notifications. Each new acquisition has a larger token than all before it,
//! and a duplicate request gets the same token.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

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
use self::step::Step;
use self::tally::Tally;
use self::world::World;

/// The number of histories in `cargo test`.
const CASES: u64 = 150;

/// The minimum number of checks of each event that a history can contain.
const ENOUGH: u64 = 5;

static TOTAL: Mutex<Tally> = Mutex::new(Tally::NOTHING);

struct RedisTest;

impl StateMachineTest for RedisTest {
    type SystemUnderTest = World;
    type Reference = Model;

    fn init_test(_model: &Model) -> World {
        World::new()
    }

    fn apply(mut world: World, model: &Model, step: Step) -> World {
        let answer = world.carry_out(&step, model);
        let seen = world.look();
        if !world.is_late() {
            assert_eq!(answer, model.answer, "the answer, and the model's");
            assert_eq!(seen, model.seen(), "what is seen, and the model's");
        }
        world
    }

    fn teardown(mut world: World, model: Model) {
        world.check_that_all_can_leave();
        if !world.is_late() {
            TOTAL.lock().unwrap().add(&model.tally);
        }
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: depth::scaled(CASES).try_into().unwrap(),
        rng_seed: RngSeed::Fixed(depth::seed()),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    fn run_all_histories(sequential 10..40 => RedisTest);
}

#[test]
fn every_history_keeps_the_guarantees_on_a_real_server() {
    run_all_histories();
    let total = TOTAL.lock().unwrap();
    println!("{total:?}");
    assert!(total.least() > depth::scaled(ENOUGH), "{total:?}");
}
