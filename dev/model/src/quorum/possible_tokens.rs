//! The tokens that a node may draw: `max(counter + 1, TIME, min(hint, TIME + S))`, for all possible clocks and hints.

use super::setup::{Clocks, Setup};
use super::weakening::Weakening;
use super::world::World;

/// How much further ahead a hint may be if a weakened node trusts it.
const FAR_AHEAD: u8 = 1;

/// Returns the tokens that `node` may draw for `who`, one bit each. With unbounded clocks the scale has room between
/// any two tokens. [`renumber`] converts the existing tokens to this scale.
pub(crate) fn possible_tokens(world: &World, setup: &Setup, who: usize, node: usize) -> u64 {
    let counter = world.nodes[node].keys.counter;
    match setup.clocks {
        Clocks::Any => between(2 * counter + 1, 2 * top(world) + 1),
        Clocks::Rising => {
            let same = world.nodes.iter().map(|it| it.lines[who].grant).max();
            let same = same
                .filter(|&it| it > counter)
                .map_or(0, |it| 1 << (2 * it));
            same | 1 << (2 * top(world) + 1)
        }
        Clocks::Still => 1 << (counter + 1),
        Clocks::Within { epsilon, ahead } => {
            let (now, last) = (world.now, world.now + epsilon + ahead);
            let far = last + FAR_AHEAD;
            let is_cut_off = !setup.without(Weakening::HintCutOff);
            let limit = if is_cut_off { last } else { far };
            // A key is granted at most once per tick, so it does not get ahead of all clocks.
            let draws = match setup.weakening {
                Some(Weakening::TimeFloor) => 1 << (counter + 1),
                Some(Weakening::FloorIsTime) => 1 << (counter + 1) | 1 << now,
                Some(Weakening::HintCutOff) => 1 << now | 1 << far,
                _ => between(now, last),
            };
            draws & between(counter + 1, limit)
        }
    }
}

fn between(first: u8, last: u8) -> u64 {
    (first..=last).fold(0, |all, it| all | 1 << it)
}

/// Returns the tokens in a mask.
pub(crate) fn each(draws: u64) -> impl Iterator<Item = u8> {
    (0..64).filter(move |it| draws & 1 << it != 0)
}

/// Converts tokens to the scale of drawn tokens.
pub(crate) fn renumber(world: &mut World, setup: &Setup) {
    if matches!(setup.clocks, Clocks::Any | Clocks::Rising) {
        world.each_token(|it| *it *= 2);
    }
}

fn top(world: &World) -> u8 {
    let mut top = 0;
    let mut copy = *world;
    copy.each_token(|it| top = top.max(*it));
    top
}
