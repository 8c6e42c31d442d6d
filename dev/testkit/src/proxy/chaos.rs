//! Faults by chance, the same for the same seed.

use std::time::Duration;

use fastrand::Rng;

/// How often a request meets with what. Probabilities from 0 to 1; of the last
/// four, at most one happens to a request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChaosPlan {
    /// A message, in either direction, is late, and so are those behind it.
    pub delay: f64,
    /// By up to this.
    pub longest_delay: Duration,
    /// The request is done, its reply is lost, and the connection is mute from
    /// then on.
    pub lose_reply: f64,
    /// The connection is cut, and the request never arrives.
    pub cut_before: f64,
    /// The request is done, and the connection is cut in the place of a reply.
    pub cut_after: f64,
    /// The connection is cut, and the request arrives all the same, late by up
    /// to `longest_delay`.
    pub orphan: f64,
}

/// What happens to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    LoseReply,
    CutBefore,
    CutAfter,
    Orphan(Duration),
}

/// The fate of one connection's direction: it depends on the seed, on the
/// connection's number, and on how many messages have passed.
#[derive(Debug)]
pub(super) struct Dice {
    seed: u64,
    rng: Rng,
}

impl Dice {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        // Neighbouring seeds shall have nothing in common.
        let mut mixer = Rng::with_seed(seed);
        let mixed = mixer.u64(..) ^ stream.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        Self {
            seed,
            rng: Rng::with_seed(mixed),
        }
    }

    pub(super) fn is_of(&self, seed: u64) -> bool {
        self.seed == seed
    }

    /// Always as many throws, so that a fate does not depend on other plans.
    pub(super) fn delay(&mut self, plan: &ChaosPlan) -> Duration {
        let (happens, share) = (self.rng.f64(), self.rng.f64());
        if happens < plan.delay {
            plan.longest_delay.mul_f64(share)
        } else {
            Duration::ZERO
        }
    }

    pub(super) fn mishap(&mut self, plan: &ChaosPlan) -> Option<Mishap> {
        let (mut throw, share) = (self.rng.f64(), self.rng.f64());
        let late = plan.longest_delay.mul_f64(share);
        let chances = [
            (plan.lose_reply, Mishap::LoseReply),
            (plan.cut_before, Mishap::CutBefore),
            (plan.cut_after, Mishap::CutAfter),
            (plan.orphan, Mishap::Orphan(late)),
        ];
        for (chance, mishap) in chances {
            if throw < chance {
                return Some(mishap);
            }
            throw -= chance;
        }
        None
    }
}
