//! The steps of a history, and the terms that the model and the world share.

use proptest::prelude::*;
use proptest::sample::select;

/// The index of an attempt among all attempts.
pub(crate) type Id = usize;

pub(crate) const PROCESSES: usize = 2;

/// Returns the process of an attempt.
pub(crate) fn process(who: Id) -> usize {
    who % PROCESSES
}

/// The index of a token among all tokens.
pub(crate) type Draw = usize;

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A new attempt, and whether it queues.
    Fresh(bool),
    /// Repeats a request: as a confirmation, a refresh, or a duplicate.
    Attempt(Id),
    /// Renews with a token of this attempt or of another one.
    Renew(Id, Draw),
    /// A release. The cleanup uses the same script.
    Release(Id),
    Cleanup(Id),
    ForceRelease,
    /// The key of the lock expires early.
    LockExpires,
    /// The position of a waiter ends, because the waiter did not refresh it.
    PlaceExpires(Id),
    /// The process of a waiter ends, so it no longer receives notifications.
    GoesDeaf(Id),
    /// Another program acquires the lock if it is free.
    ForeignSet,
    ForeignDel,
    CounterIsLost,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted(Draw),
    Busy,
    Extended,
    Gone,
    Released,
    AlreadyGone,
    Forced(bool),
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Ours(Id),
    Foreign,
}

/// The complete state of the key on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) holder: Option<Holder>,
    /// The counter, and the attempt with its last token.
    pub(crate) fence: Option<(Draw, Id)>,
    /// The waiters in order, including those with an unnoticed expired lease.
    pub(crate) line: Vec<Id>,
    /// The number of live waiters that `inspect` returns.
    pub(crate) waiting: usize,
}

/// Generates a step of one of `speakers`, with one of `draws`.
pub(crate) fn any_step(speakers: Vec<Id>, draws: usize) -> BoxedStrategy<Step> {
    let queues = prop::bool::weighted(0.8);
    if speakers.is_empty() {
        return queues.prop_map(Step::Fresh).boxed();
    }
    let who = select(speakers);
    let renew = (who.clone(), 0..draws.max(1)).prop_map(|(who, draw)| Step::Renew(who, draw));
    prop_oneof![
        4 => queues.prop_map(Step::Fresh),
        10 => who.clone().prop_map(Step::Attempt),
        3 => renew,
        4 => who.clone().prop_map(Step::Release),
        2 => who.clone().prop_map(Step::Cleanup),
        1 => Just(Step::ForceRelease),
        2 => Just(Step::LockExpires),
        2 => who.clone().prop_map(Step::PlaceExpires),
        2 => who.prop_map(Step::GoesDeaf),
        1 => Just(Step::ForeignSet),
        1 => Just(Step::ForeignDel),
        1 => Just(Step::CounterIsLost),
    ]
    .boxed()
}
