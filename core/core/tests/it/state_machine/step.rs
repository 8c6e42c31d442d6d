//! The steps of a history, and the terms that the model and the world share.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) type Ms = u64;

/// The index of an attempt among all attempts.
pub(crate) type Id = usize;

/// The index of a token among all tokens.
pub(crate) type Draw = usize;

pub(crate) const KEYS: usize = 2;
pub(crate) const ACTORS: usize = 6;

const TTLS: [Ms; 4] = [10, 300, 2_000, 30_000];

/// Durations near the ends of leases, hand-offs and positions. Long durations are rare, because they end everything.
const ADVANCES: [Ms; 21] = [
    1, 1, 1, 9, 10, 11, 300, 300, 300, 300, 300, 1_999, 1_999, 2_000, 2_000, 2_001, 2_001, 5_999,
    6_000, 6_001, 30_000,
];

/// The number of zero-length acquisitions in a [`Step::Burst`].
pub(crate) const BURST: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) key: usize,
    pub(crate) ttl: Ms,
    pub(crate) queue: bool,
}

/// A valid or invalid claim.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimed {
    pub(crate) owner: Id,
    /// `None` stands for a token that was never granted.
    pub(crate) token: Option<Draw>,
    pub(crate) ttl: Ms,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The actor dies without a release, and continues with a new attempt.
    Fresh {
        actor: usize,
        ask: Ask,
    },
    Attempt(Id),
    Renew(Vec<Claimed>),
    Release(Claimed),
    Cleanup(Id),
    ForceRelease(usize),
    Inspect(usize),
    Advance(Ms),
    /// Acquires leases with zero length in a loop. Each is over when the next one is requested. Nothing else is fast
    /// enough to get two tokens of one key in one microsecond of the clock.
    Burst(usize),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Granted { token: Draw, lease: Ms },
    Busy { retry_after: Ms },
    Extended { lease: Ms },
    Gone,
    Released,
    AlreadyGone,
    Forced(bool),
    CleanedUp,
}

/// The result of `inspect`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen<Token> {
    pub(crate) owner: Option<Id>,
    pub(crate) token: Option<Token>,
    pub(crate) expires_in: Option<Ms>,
    pub(crate) waiting: usize,
}

/// Generates a step of one of `speakers`, with one of `claims`.
pub(crate) fn any_step(speakers: Vec<Id>, claims: Vec<(Id, Option<Draw>)>) -> BoxedStrategy<Step> {
    // Most steps use the same key, so that a queue builds up.
    let key = || select(&[0, 0, 0, 1][..]);
    let ttl = || select(&TTLS[..]);
    let queue = prop::bool::weighted(0.8);
    let ask = (key(), ttl(), queue).prop_map(|(key, ttl, queue)| Ask { key, ttl, queue });
    let who = select(speakers);
    let claim =
        (select(claims), ttl()).prop_map(|((owner, token), ttl)| Claimed { owner, token, ttl });
    prop_oneof![
        4 => (0..ACTORS, ask).prop_map(|(actor, ask)| Step::Fresh { actor, ask }),
        12 => who.clone().prop_map(Step::Attempt),
        3 => vec(claim.clone(), 1..5).prop_map(Step::Renew),
        4 => claim.prop_map(Step::Release),
        2 => who.prop_map(Step::Cleanup),
        1 => key().prop_map(Step::ForceRelease),
        1 => key().prop_map(Step::Inspect),
        8 => select(&ADVANCES[..]).prop_map(Step::Advance),
        1 => key().prop_map(Step::Burst),
    ]
    .boxed()
}
