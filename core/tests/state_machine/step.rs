//! What may happen, and the words for it that the model and the world share.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

pub(crate) type Ms = u64;

/// An attempt, by its place among all that were made.
pub(crate) type Id = usize;

/// A token, by its place among all that were drawn.
pub(crate) type Draw = usize;

pub(crate) const KEYS: usize = 2;
pub(crate) const ACTORS: usize = 6;

const TTLS: [Ms; 4] = [10, 300, 2_000, 30_000];

/// Around the ends of leases, hand-offs and places; the long ones are rare, since they end everything.
const ADVANCES: [Ms; 21] = [
    1, 1, 1, 9, 10, 11, 300, 300, 300, 300, 300, 1_999, 1_999, 2_000, 2_000, 2_001, 2_001, 5_999,
    6_000, 6_001, 30_000,
];

/// How many acquisitions without length follow each other in a [`Step::Burst`].
pub(crate) const BURST: usize = 8;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) key: usize,
    pub(crate) ttl: Ms,
    pub(crate) queue: bool,
}

/// A claim, right or wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claimed {
    pub(crate) owner: Id,
    /// None is a token that was never drawn.
    pub(crate) token: Option<Draw>,
    pub(crate) ttl: Ms,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// The actor dies without a word, and asks anew under another identity.
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
    /// Leases of no length, shorter than a manager may ask for, each over when the next is asked for:
    /// nothing else is fast enough for two tokens of one key to be drawn in one microsecond of the
    /// clock that they follow.
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

/// What `inspect` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen<Token> {
    pub(crate) owner: Option<Id>,
    pub(crate) token: Option<Token>,
    pub(crate) expires_in: Option<Ms>,
    pub(crate) waiting: usize,
}

/// A step by one of `speakers`, with one of `claims`.
pub(crate) fn any_step(speakers: Vec<Id>, claims: Vec<(Id, Option<Draw>)>) -> BoxedStrategy<Step> {
    // Most of them want the same key, so that a queue builds up.
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
