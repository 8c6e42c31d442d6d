//! What may happen, and the words for it that the model and the worlds share.

use std::fmt::Debug;

use leasehold::backend::Mode;
use leasehold_testkit::history as specification;
use proptest::prelude::*;
use proptest::sample::select;

/// An attempt, by its place among all that were made.
pub(crate) type Id = usize;

/// The mode in the words of the specification.
pub(crate) fn specified(mode: Mode) -> specification::Mode {
    match mode {
        Mode::Exclusive => specification::Mode::Exclusive,
        Mode::Shared => specification::Mode::Shared,
        Mode::Permits { count, of } => specification::Mode::Permits { count, of },
        _ => panic!("{mode:?}"),
    }
}

pub(crate) const PROCESSES: usize = 2;

/// The process of an attempt.
pub(crate) fn process(who: Id) -> usize {
    who % PROCESSES
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A new attempt: how it wants to hold, and whether it queues.
    Fresh(Mode, bool),
    /// The same request again: a confirm, a refresh, or a second copy.
    Attempt(Id),
    /// A holder makes a secret by which the lock can be taken up.
    HandOver(Id),
    /// A new attempt that takes the lock up from a holder, by its last secret or a forged one.
    TakeUp(Id),
    Renew(Id),
    Downgrade(Id),
    Release(Id),
    Cleanup(Id),
    ForceRelease,
    /// A holder's lease ends.
    LeaseEnds(Id),
    /// A waiter has been silent for too long.
    PlaceEnds(Id),
    /// A waiter's process is gone: nobody listens to its inbox.
    GoesDeaf(Id),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted,
    Busy,
    Spent,
    /// A copy of a request that has no place any more.
    Late,
    Extended,
    Gone,
    Released,
    AlreadyGone,
    Forced(bool),
    Nothing,
}

/// What is known of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Who holds it alone.
    pub(crate) alone: Option<Id>,
    pub(crate) holders: usize,
    pub(crate) waiting: usize,
}

/// Modes that are used together.
pub(crate) trait Family: Debug + Clone + Send + Sync + 'static {
    const PERMITS: bool;

    fn modes() -> Vec<Mode>;
}

#[derive(Debug, Clone)]
pub(crate) struct ReadWrite;

impl Family for ReadWrite {
    const PERMITS: bool = false;

    fn modes() -> Vec<Mode> {
        vec![Mode::Exclusive, Mode::Shared, Mode::Shared]
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Permits;

impl Family for Permits {
    const PERMITS: bool = true;

    /// Most name the same number, and some a larger or a smaller one.
    fn modes() -> Vec<Mode> {
        let all = [(1, 4), (1, 4), (2, 4), (3, 4), (4, 4), (1, 2), (2, 6)];
        all.map(|(count, of)| Mode::Permits { count, of }).to_vec()
    }
}

/// A step by one of `speakers`.
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

/// What can be done with a lock that one holds alone.
fn of_one_holder<F: Family>(
    who: impl Strategy<Value = Id> + Clone + 'static,
) -> BoxedStrategy<Step> {
    if F::PERMITS {
        return who.prop_map(Step::Renew).boxed();
    }
    prop_oneof![
        3 => who.clone().prop_map(Step::HandOver),
        2 => who.clone().prop_map(Step::TakeUp),
        2 => who.prop_map(Step::Downgrade),
    ]
    .boxed()
}
