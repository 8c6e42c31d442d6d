//! Runs the histories of one test.

use std::cell::RefCell;
use std::marker::PhantomData;

use leasehold_testkit::depth;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use crate::model::Model;
use crate::place::Place;
use crate::step::{Answer, Family, Step};
use crate::tally::Tally;
use crate::world::World;

thread_local! {
    /// Counts the events in all histories of one test. Each test has its own thread.
    static TOTAL: RefCell<Tally> = const { RefCell::new(Tally::NOTHING) };
}

struct Histories<F, P>(PhantomData<(F, P)>);

impl<F: Family, P: Place> StateMachineTest for Histories<F, P> {
    type SystemUnderTest = World<P>;
    type Reference = Model<F, P>;

    fn init_test(_model: &Model<F, P>) -> World<P> {
        World::new(F::ONCE)
    }

    fn apply(mut world: World<P>, model: &Model<F, P>, step: Step) -> World<P> {
        let answer = world.carry_out(&step);
        world.check(&answer, &model.answer(), "the answer, and the model's");
        if let Some(passed_to) = model.passed_to() {
            let answer = world.attempt(passed_to);
            world.check(&answer, &Answer::Granted, "what was passed on");
        }
        let seen = world.look();
        world.check(&seen, &model.seen(), "what is seen, and the model's");
        world
    }

    fn teardown(world: World<P>, model: Model<F, P>) {
        world.check_that_all_can_leave();
        if !world.is_late() {
            TOTAL.with_borrow_mut(|total| total.add(&model.tally));
        }
    }
}

/// Runs this number of histories, or more if the tests [go deeper](leasehold_testkit::depth). Each event that a history
/// can contain must happen at least `enough` times, and once in each hundred histories.
pub fn run<F: Family, P: Place>(cases: u64, enough: u64) {
    let config = Config {
        cases: u32::try_from(depth::scaled(cases)).unwrap_or(u32::MAX),
        rng_seed: RngSeed::Fixed(depth::seed()),
        failure_persistence: None,
        ..Config::default()
    };
    let mut runner = TestRunner::new(config.clone());
    let histories = Model::<F, P>::sequential_strategy(8..30);
    let ran = runner.run(&histories, |(state, steps, seen)| {
        Histories::<F, P>::test_sequential(config.clone(), state, steps, seen);
        Ok(())
    });
    if let Err(error) = ran {
        panic!("{error}\n{runner}");
    }
    TOTAL.with_borrow(|total| {
        println!("{cases} histories: {total:?}");
        // A budget of a few histories may miss rare events, but a deeper run must contain each of them.
        let enough = enough.max(u64::from(config.cases) / 100);
        let rare = total.rarer_than::<F>(enough, P::IS_LAZY);
        assert!(rare.is_empty(), "{rare:?} in {total:?}");
    });
}
