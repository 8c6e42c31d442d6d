//! Random faults, which are the same for the same seed.

use std::time::Duration;

use fastrand::Rng;

/// The probabilities of faults, from 0 to 1. A request has at most one of the last four.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ChaosPlan {
    /// A message in either direction is delayed, and so are the following messages.
    pub delay: f64,
    /// The maximum delay.
    pub longest_delay: Duration,
    /// The request is executed and its reply is lost. Afterwards the connection is silent.
    pub lose_reply: f64,
    /// The connection is cut before the request arrives.
    pub cut_before: f64,
    /// The request is executed, and the connection is cut instead of a reply.
    pub cut_after: f64,
    /// The connection is cut, but the request still arrives, delayed by up to `longest_delay`.
    pub orphan: f64,
}

/// The fault of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mishap {
    LoseReply,
    CutBefore,
    CutAfter,
    Orphan(Duration),
}

/// The random faults of one direction of a connection. They depend on the seed, on the number of the connection, and on
/// the number of earlier messages.
#[derive(Debug)]
pub(super) struct Dice {
    seed: u64,
    rng: Rng,
}

impl Dice {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        // Neighbouring seeds must give independent results.
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

    /// Always draws the same number of random values, so that a result does not depend on other probabilities.
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
