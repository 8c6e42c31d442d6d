//! A common form for all worlds with the same behaviour.

use super::node::{Flag, Keys, MOST_NODES, MOST_ROUNDS, NOBODY, id};
use super::setup::{Clocks, Setup};
use super::weakening::Weakening;
use super::world::{Phase, Round, World};

/// Converts a world to its canonical form. State that no longer matters is removed, and only the order of past tokens
/// is kept. The names of anonymous nodes and rounds are removed.
pub(crate) fn canonical_form(mut world: World, setup: &Setup) -> World {
    for who in setup.everyone() {
        forget_round(&mut world.rounds[who], setup);
        for node in setup.everywhere() {
            forget_line(&mut world, setup, who, node);
        }
    }
    if !setup.is_timed() {
        expire_early(&mut world, setup);
    }
    for node in &mut world.nodes {
        forget_keys(&mut node.keys);
        if let Some(saved) = &mut node.saved {
            forget_keys(saved);
        }
    }
    rank_tokens(&mut world, setup);
    if setup.anonymous {
        world = anonymous(&world, setup);
    }
    world
}

/// A lock that its holder will not use again is treated as expired.
fn expire_early(world: &mut World, setup: &Setup) {
    for at in setup.everywhere() {
        let node = &mut world.nodes[at];
        let is_over = |keys: &Keys| {
            !setup.everyone().any(|who| {
                let (round, line) = (&world.rounds[who], &node.lines[who]);
                let extends = setup.faults.extends
                    && (round.phase == Phase::Asking
                        || keys.counter <= round.token
                        || setup.without(Weakening::ExtensionComparesToken));
                let asks = line.grant > 0 || line.has(Flag::Raise) || extends;
                keys.is_held_by(who) && asks
            })
        };
        if is_over(&node.keys) {
            node.keys.delete_lock();
        }
        if let Some(saved) = &mut node.saved
            && is_over(saved)
        {
            saved.delete_lock();
        }
    }
}

/// The attempt that drew a token only matters while the lock is held.
fn forget_keys(keys: &mut Keys) {
    if keys.holder == NOBODY {
        keys.drawer = NOBODY;
    }
}

fn forget_round(round: &mut Round, setup: &Setup) {
    // Answers that are received too late have no effect, unless rounds release.
    let too_late = setup.has_validity() && round.left == 0 && !setup.faults.leaves;
    if too_late && !setup.without(Weakening::ValidityAtEnd) && round.phase == Phase::Asking {
        round.phase = Phase::Leaving;
    }
    if !matches!(round.phase, Phase::Asking | Phase::Raising | Phase::Holding) {
        round.left = 0;
    }
    if !round.extending {
        (round.extends_to, round.extends_late) = (0, false);
    }
}

fn forget_line(world: &mut World, setup: &Setup, who: usize, at: usize) {
    let round = world.rounds[who];
    let node = &mut world.nodes[at];
    let line = &mut node.lines[who];
    let has_ended = setup.times.allowed > 0 && round.life == 0;
    if has_ended {
        node.keys.seals &= !(1 << who);
        if let Some(saved) = &mut node.saved {
            saved.seals &= !(1 << who);
        }
        if !setup.without(Weakening::Expiry) {
            line.set(Flag::Asked, false);
        }
    }
    if round.phase != Phase::Asking && !(setup.later_answers && round.phase == Phase::Raising) {
        line.grant = 0;
    }
    if round.phase != Phase::Raising {
        line.set(Flag::Acked, false);
    }
    if !round.extending {
        line.set(Flag::Extended, false);
    }
    if round.phase != Phase::Leaving {
        line.set(Flag::Released, false);
    }
    // A request has no effect on a node that the round does not hold and will not hold again.
    let saved = node.saved.is_some_and(|it| it.is_held_by(who));
    let is_dead = !node.keys.is_held_by(who) && !saved && !line.has(Flag::Asked);
    if is_dead {
        line.set(Flag::OldRelease, false);
    }
    if is_dead && !setup.without(Weakening::RaiseComparesOwner) {
        line.set(Flag::Raise, false);
    }
    if is_dead && !setup.without(Weakening::ExtensionComparesOwner) {
        line.set(Flag::Extend, false);
    }
    // A raise also has no effect if the counter is already at the token, or permanently beyond it.
    let is_raised = node.keys.counter >= round.token && !setup.loses_counters();
    let is_heard = line.has(Flag::Acked) || round.phase != Phase::Raising;
    let is_beyond = node.keys.counter > round.token && !setup.without(Weakening::RaiseEquals);
    if is_raised && (is_heard || is_beyond) {
        line.set(Flag::Raise, false);
    }
}

fn rank_tokens(world: &mut World, setup: &Setup) {
    // Tokens that are not older than the time keep their distance from it.
    let now = match setup.clocks {
        Clocks::Within { .. } => world.now.max(1),
        Clocks::Any | Clocks::Rising => u8::MAX,
        Clocks::Still => {
            world.now = 0;
            return;
        }
    };
    let mut past = 0_u64;
    world.each_token(|&mut token| {
        if token < now {
            past |= 1 << token;
        }
    });
    past &= !1;
    let count = |tokens: u64| u8::try_from(tokens.count_ones()).unwrap_or(u8::MAX);
    let new_now = count(past) + 1;
    world.each_token(|token| {
        if *token >= now {
            *token = *token - now + new_now;
        } else if *token > 0 {
            *token = count(past & ((1 << *token) - 1)) + 1;
        }
    });
    world.now = if now == u8::MAX { 0 } else { new_now };
}

/// Returns the smallest of all worlds that differ only in names.
fn anonymous(world: &World, setup: &Setup) -> World {
    let mut least: Option<World> = None;
    for names in NAMES {
        if (setup.rounds..MOST_ROUNDS).any(|it| names[it] != it) || !is_sorted(world, setup, names)
        {
            continue;
        }
        let mut other = renamed(world, names);
        other.nodes[..setup.nodes].sort_unstable();
        if least.is_none_or(|least| other < least) {
            least = Some(other);
        }
    }
    least.unwrap_or(*world)
}

/// All orders of the rounds.
const NAMES: [[usize; MOST_ROUNDS]; 6] = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
];

/// Returns whether the rounds are sorted under their new names, by features that do not depend on names.
fn is_sorted(world: &World, setup: &Setup, names: [usize; MOST_ROUNDS]) -> bool {
    let mut old = [0; MOST_ROUNDS];
    for (from, to) in names.into_iter().enumerate() {
        old[to] = from;
    }
    let nameless = |who: usize| Round {
        after: 0,
        ..world.rounds[who]
    };
    old[..setup.rounds].is_sorted_by_key(|&who| nameless(who))
}

fn renamed(world: &World, names: [usize; MOST_ROUNDS]) -> World {
    let mask =
        |mask: u8| (0..MOST_ROUNDS).fold(0, |sum, who| sum | (mask >> who & 1) << names[who]);
    let name = |who: u8| {
        names
            .get(usize::from(who).wrapping_sub(1))
            .map_or(NOBODY, |&it| id(it))
    };
    let keys = |keys: Keys| Keys {
        holder: name(keys.holder),
        drawer: name(keys.drawer),
        seals: mask(keys.seals),
        ..keys
    };
    let mut new = *world;
    for at in 0..MOST_NODES {
        let (old, node) = (&world.nodes[at], &mut new.nodes[at]);
        node.keys = keys(old.keys);
        node.saved = old.saved.map(keys);
        for (line, name) in old.lines.into_iter().zip(names) {
            node.lines[name] = line;
        }
    }
    for (round, name) in world.rounds.into_iter().zip(names) {
        new.rounds[name] = Round {
            after: mask(round.after),
            ..round
        };
    }
    new.writers = mask(world.writers);
    new
}
