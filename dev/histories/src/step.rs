//! The steps of a history, and the terms that the model and the worlds share.

use std::fmt::Debug;

use leasehold::backend::Mode;
use leasehold_testkit::history as specification;
use proptest::prelude::*;
use proptest::sample::select;

/// The index of an attempt among all attempts.
pub type Id = usize;

/// Converts a mode to the type of the specification.
pub(crate) fn specified(mode: Mode) -> specification::Mode {
    match mode {
        Mode::Exclusive => specification::Mode::Exclusive,
        Mode::Shared => specification::Mode::Shared,
        Mode::Permits { count, of } => specification::Mode::Permits { count, of },
    }
}

/// The number of processes.
pub const PROCESSES: usize = 2;

/// Returns the process of an attempt.
#[must_use]
pub fn process(who: Id) -> usize {
    who % PROCESSES
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A new attempt, with its mode, and whether it queues.
    Fresh(Mode, bool),
    /// Repeats a request: as a confirmation, a refresh, or a duplicate.
    Attempt(Id),
    /// A holder creates a secret for a handover.
    HandOver(Id),
    /// A new attempt accepts the lock from a holder, with its last secret or a forged one.
    TakeUp(Id),
    Renew(Id),
    Downgrade(Id),
    Release(Id),
    /// Records the outcome of a holder, or of a former one.
    Record(Id),
    /// The recorded outcome is deleted.
    Forget,
    Cleanup(Id),
    ForceRelease,
    /// The lease of a holder ends.
    LeaseEnds(Id),
    /// The position of a waiter ends, because the waiter did not refresh it.
    PlaceEnds(Id),
    /// The process of a waiter ends, so it no longer receives notifications.
    GoesDeaf(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    Busy,
    Spent,
    /// A duplicate of a request that no longer has a position.
    Late,
    Extended,
    Gone,
    Released,
    AlreadyGone,
    Found(bool),
    /// The outcome of this attempt ends the attempt.
    Recorded(Id),
    Nothing,
}

/// The state of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// The exclusive holder.
    pub(crate) alone: Option<Id>,
    pub(crate) holders: usize,
    pub(crate) waiting: usize,
}

/// Modes that are used on one key.
pub trait Family: Debug + Clone + Send + Sync + 'static {
    /// Whether the key is a semaphore.
    const PERMITS: bool;
    /// Whether outcomes are recorded, and a recorded outcome ends an attempt.
    const ONCE: bool = false;

    /// Returns the modes, with the frequent ones several times.
    fn modes() -> Vec<Mode>;
}

/// Readers and writers.
#[derive(Debug, Clone)]
pub struct ReadWrite;

impl Family for ReadWrite {
    const PERMITS: bool = false;

    fn modes() -> Vec<Mode> {
        vec![Mode::Exclusive, Mode::Shared, Mode::Shared]
    }
}

/// Permits of a semaphore.
#[derive(Debug, Clone)]
pub struct Permits;

impl Family for Permits {
    const PERMITS: bool = true;

    /// Most modes have the same limit, and some have a larger or a smaller one.
    fn modes() -> Vec<Mode> {
        let all = [(1, 4), (1, 4), (2, 4), (3, 4), (4, 4), (1, 2), (2, 6)];
        all.map(|(count, of)| Mode::Permits { count, of }).to_vec()
    }
}

/// Exclusive holders that record outcomes.
#[derive(Debug, Clone)]
pub struct Once;

impl Family for Once {
    const PERMITS: bool = false;
    const ONCE: bool = true;

    fn modes() -> Vec<Mode> {
        vec![Mode::Exclusive]
    }
}

/// Generates a step of one of `speakers`.
pub(crate) fn any_step<F: Family>(speakers: Vec<Id>) -> BoxedStrategy<Step> {
    let fresh = (select(F::modes()), prop::bool::weighted(0.8));
    let fresh = fresh.prop_map(|(mode, queues)| Step::Fresh(mode, queues));
    if speakers.is_empty() {
        return fresh.boxed();
    }
    let who = select(speakers);
    prop_oneof![
        6 => fresh,
        12 => who.clone().prop_map(Step::Attempt),
        7 => of_one_holder::<F>(who.clone()),
        3 => who.clone().prop_map(Step::Renew),
        5 => who.clone().prop_map(Step::Release),
        3 => who.clone().prop_map(Step::Cleanup),
        1 => Just(Step::ForceRelease),
        3 => who.clone().prop_map(Step::LeaseEnds),
        2 => who.clone().prop_map(Step::PlaceEnds),
        2 => who.prop_map(Step::GoesDeaf),
    ]
    .boxed()
}

/// Generates an operation on an exclusively held lock.
fn of_one_holder<F: Family>(
    who: impl Strategy<Value = Id> + Clone + 'static,
) -> BoxedStrategy<Step> {
    if F::PERMITS {
        return who.prop_map(Step::Renew).boxed();
    }
    if F::ONCE {
        return prop_oneof![3 => who.prop_map(Step::Record), 1 => Just(Step::Forget)].boxed();
    }
    prop_oneof![
        3 => who.clone().prop_map(Step::HandOver),
        2 => who.clone().prop_map(Step::TakeUp),
        2 => who.prop_map(Step::Downgrade),
    ]
    .boxed()
}
