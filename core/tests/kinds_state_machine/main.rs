//! Random histories of one key with several concurrent holders: readers and writers, or permits of a semaphore. And
//! histories of one key with exclusive holders that record outcomes. Each history runs on the in-process backend, and with the real scripts on a real server.
//!
//! Each answer and the resulting state of the key are compared with a [`model`]: a simple list of holders and a simple
//! queue. Time is an event of the history: it ends the lease of a holder, and on the server the position of a waiter.
//! Locks are downgraded, handed over and force-released, waiters give up, and the process of a waiter stops listening.
//!
//! Each step checks the holders and the number of waiters. It also checks that no request overtakes a waiter, and that
//! tokens grow as each kind promises.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod embedded;
mod model;
mod on_redis;
mod step;
mod tally;
mod tokens;
mod world;

use std::marker::PhantomData;
use std::sync::Mutex;

use proptest::prelude::*;
use proptest_state_machine::{StateMachineTest, prop_state_machine};

use self::embedded::Embedded;
use self::model::Model;
use self::on_redis::OnRedis;
use self::step::{Answer, Family, Once, Permits, ReadWrite, Step};
use self::tally::Tally;
use self::world::{Place, World};

const CASES: u32 = 10_000;

/// The minimum number of checks of each event that a history can contain.
const ENOUGH: u64 = 200;

struct Histories<F, P>(PhantomData<(F, P)>);

impl<F: Family, P: Place> StateMachineTest for Histories<F, P> {
    type SystemUnderTest = World<P>;
    type Reference = Model<F, P>;

    fn init_test(_model: &Model<F, P>) -> World<P> {
        World::new(F::ONCE)
    }

    fn apply(mut world: World<P>, model: &Model<F, P>, step: Step) -> World<P> {
        let answer = world.carry_out(&step);
        assert_eq!(answer, model.answer(), "the answer, and the model's");
        if let Some(passed_to) = model.passed_to() {
            assert_eq!(
                world.attempt(passed_to),
                Answer::Granted,
                "what was passed on"
            );
        }
        assert_eq!(world.look(), model.seen(), "what is seen, and the model's");
        world
    }

    fn teardown(world: World<P>, model: Model<F, P>) {
        world.check_that_all_can_leave();
        total::<F, P>().lock().unwrap().add(&model.tally);
    }
}

/// Counts the events in all histories of one test.
fn total<F: Family, P: Place>() -> &'static Mutex<Tally> {
    static TOTALS: [Mutex<Tally>; 6] = [const { Mutex::new(Tally::NOTHING) }; 6];
    let family = usize::from(F::PERMITS) + 2 * usize::from(F::ONCE);
    &TOTALS[family * 2 + usize::from(P::IS_LAZY)]
}

macro_rules! histories {
    ($($name:ident: $family:ty, $place:ty;)+) => {
        $(
            mod $name {
                use super::*;

                prop_state_machine! {
                    #![proptest_config(ProptestConfig {
                        cases: CASES,
                        failure_persistence: None,
                        ..ProptestConfig::default()
                    })]

                    fn run_all(sequential 8..30 => Histories<$family, $place>);
                }

                #[test]
                fn every_history_keeps_the_promises() {
                    run_all();
                    let total = total::<$family, $place>().lock().unwrap();
                    println!("{CASES} histories: {total:?}");
                    let rare = total.rarer_than::<$family>(ENOUGH, <$place>::IS_LAZY);
                    assert!(rare.is_empty(), "{rare:?} in {total:?}");
                }
            }
        )+
    };
}

histories! {
    readers_and_writers_in_process: ReadWrite, Embedded;
    readers_and_writers_on_a_server: ReadWrite, OnRedis;
    permits_in_process: Permits, Embedded;
    permits_on_a_server: Permits, OnRedis;
    outcomes_in_process: Once, Embedded;
    outcomes_on_a_server: Once, OnRedis;
}
