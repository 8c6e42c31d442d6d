//! Random histories of one key and twelve attempts of two processes against the real scripts on a real server.
//!
//! Each answer, and all that the server then knows of the key, is compared with a [`model`]. Time is an event like
//! others: the lock or a place in the queue ends when the history says so, whoever holds it, as it would on a
//! server whose clock has jumped. Other programs take the key and delete it, a waiter's process goes deaf, and
//! the counter is lost.
//!
//! What is checked at each step: who holds the lock and who stands in line, in order; that nobody is granted a lock
//! that another has, nor before somebody who has stood in line longer and can be woken; that each new
//! acquisition's token is larger than all before it, and a second copy's the same.

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

use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};

use self::model::Model;
use self::step::Step;
use self::tally::Tally;
use self::world::World;

const CASES: u32 = 10_000;

/// Of each event that a history may contain, so many were checked at the very least.
const ENOUGH: u64 = 500;

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
        assert_eq!(answer, model.answer, "the answer, and the model's");
        assert_eq!(world.look(), model.seen(), "what is seen, and the model's");
        world
    }

    fn teardown(mut world: World, model: Model) {
        world.check_that_all_can_leave();
        TOTAL.lock().unwrap().add(&model.tally);
    }
}

prop_state_machine! {
    #![proptest_config(ProptestConfig {
        cases: CASES,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    fn run_all_histories(sequential 10..40 => RedisTest);
}

#[test]
fn every_history_keeps_the_promises_on_a_real_server() {
    run_all_histories();
    let total = TOTAL.lock().unwrap();
    println!("{CASES} histories: {total:?}");
    assert!(total.least() > ENOUGH, "{total:?}");
}
