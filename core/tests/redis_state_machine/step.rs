//! What may happen, and the words for it that the model and the world share.

use proptest::prelude::*;
use proptest::sample::select;

/// An attempt, by its place among all that were made.
pub(crate) type Id = usize;

pub(crate) const PROCESSES: usize = 2;

/// The process of an attempt.
pub(crate) fn process(who: Id) -> usize {
    who % PROCESSES
}

/// A token, by its place among all that were drawn.
pub(crate) type Draw = usize;

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// A new attempt, and whether it queues.
    Fresh(bool),
    /// The same request again: a confirm, a refresh, or a second copy.
    Attempt(Id),
    /// With a token that was drawn, by it or by another.
    Renew(Id, Draw),
    /// Release and cleanup are one script.
    Release(Id),
    Cleanup(Id),
    ForceRelease,
    /// The lock's key ends before its time.
    LockExpires,
    /// A waiter has been silent for too long.
    PlaceExpires(Id),
    /// A waiter's process is gone: nobody listens to its inbox.
    GoesDeaf(Id),
    /// Another program takes the lock if it is free.
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

/// All that the server knows of the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) holder: Option<Holder>,
    /// The counter, and who drew last.
    pub(crate) fence: Option<(Draw, Id)>,
    /// In order, those included whose lease has run out unnoticed.
    pub(crate) line: Vec<Id>,
    /// What `inspect` answers: how many live ones wait.
    pub(crate) waiting: usize,
}

/// A step by one of `speakers`, with one of `draws`.
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
