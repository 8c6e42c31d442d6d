//! A fenced resource, to which holders write.

use crate::setup::Setup;
use crate::weakening::Weakening;
use crate::world::{Mark, World};

/// Writes to the resource, which refuses tokens below the largest one that it has seen.
pub(crate) fn write(world: &mut World, setup: &Setup, who: usize) {
    let token = if setup.without(Weakening::TokenKept) {
        world.server.token
    } else {
        world.attempts[who].token
    };
    if token < world.highest_write {
        return;
    }
    let later = |it: usize| world.attempts[it].after & 1 << who != 0;
    if setup
        .everyone()
        .any(|it| world.writers & 1 << it != 0 && later(it))
    {
        world.mark(Mark::StaleWrite);
    }
    world.highest_write = token;
    world.writers |= 1 << who;
}
