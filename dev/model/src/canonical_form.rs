//! A common form for all worlds with the same behaviour.

use crate::attempt::Line;
use crate::server::{MOST, id};
use crate::setup::Setup;
use crate::world::World;

/// Converts a world to its canonical form. Only the order of tokens is kept. If attempts are anonymous, their names are
/// not kept.
pub(crate) fn canonical_form(mut world: World, setup: &Setup) -> World {
    rank_tokens(&mut world);
    if setup.anonymous {
        world = anonymous(&world, setup);
    }
    world
}

/// Replaces each token by its rank, so that counters do not grow forever.
fn rank_tokens(world: &mut World) {
    let mut used = 0_u32;
    each_token(world, |token| used |= 1 << *token);
    used &= !1;
    each_token(world, |token| {
        let smaller = used & ((1 << *token) - 1);
        if *token > 0 {
            *token = u8::try_from(smaller.count_ones()).unwrap_or(u8::MAX) + 1;
        }
    });
}

fn each_token(world: &mut World, mut visit: impl FnMut(&mut u8)) {
    visit(&mut world.server.token);
    visit(&mut world.server.outcome);
    if let Some(promoted) = &mut world.promoted {
        visit(&mut promoted.token);
        visit(&mut promoted.outcome);
    }
    visit(&mut world.clock);
    visit(&mut world.highest_write);
    visit(&mut world.highest_outcome);
    for attempt in &mut world.attempts {
        visit(&mut attempt.token);
        if let Line::Granted { token, .. } = &mut attempt.line {
            visit(token);
        }
        if let Some(token) = &mut attempt.slow_grant {
            visit(token);
        }
        if let Some(pass) = &mut attempt.passed {
            visit(&mut pass.token);
        }
    }
}

/// Sorts the attempts by their distinguishing features. Worlds that still differ only in names are explored twice,
/// which is harmless.
fn anonymous(world: &World, setup: &Setup) -> World {
    let mut order = [0, 1, 2];
    order[..setup.attempts].sort_by_key(|&who| {
        let server = &world.server;
        (
            world.attempts[who],
            server.is_held_by(who),
            server.was_drawn_by(who),
            server.places[who],
            server.seals[who],
            server.queue.iter().position(|it| it == who),
            world.deaf & setup.process(who) != 0,
        )
    });
    let mut names = [0; MOST];
    for (new, &old) in order.iter().enumerate() {
        names[old] = new;
    }
    renamed(world, &names)
}

fn renamed(world: &World, names: &[usize; MOST]) -> World {
    let mask = |mask: u8| (0..MOST).fold(0, |sum, who| sum | (mask >> who & 1) << names[who]);
    let mut new = *world;
    for (old, &name) in names.iter().enumerate() {
        new.attempts[name] = world.attempts[old];
        new.attempts[name].after = mask(world.attempts[old].after);
        if let Some(naming) = &mut new.attempts[name].naming {
            naming.by = id(names[usize::from(naming.by)]);
        }
    }
    new.server = world.server.renamed(names);
    new.promoted = world.promoted.map(|it| it.renamed(names));
    new.came = world.came.renamed(names);
    new.registered = world.registered.renamed(names);
    new.writers = mask(world.writers);
    new.recorded = mask(world.recorded);
    // In an anonymous setup, each attempt has its own process.
    new.deaf = mask(world.deaf);
    new.gone = mask(world.gone);
    new
}
