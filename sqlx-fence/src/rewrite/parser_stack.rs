//! Provides a stack that is large enough, because this crate parses, compares and drops syntax trees recursively.

use std::thread;

use super::rewrite_error::Refusal;

/// The maximum height of trees that are parsed on the current stack.
pub(super) const LOW: Height = Height {
    levels: 250,
    nested: 8,
};
/// The maximum height of trees. The crate refuses higher trees.
pub(super) const MOST: Height = Height {
    levels: 2_500,
    nested: 120,
};
/// The stack size of the thread that parses higher trees, in bytes.
const STACK: usize = 128 << 20;
/// The recursion limits of the parser, for low trees and for higher ones.
const DEPTHS: [usize; 2] = [60, 600];

/// The height of a tree.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Height {
    pub(super) levels: usize,
    /// The number of nested brackets.
    pub(super) nested: usize,
}

/// Runs `work` on a stack that is large enough for a tree of this height. `work` gets the recursion limit of the
/// parser.
pub(super) fn with_enough<T: Send>(
    height: Height,
    work: impl FnOnce(usize) -> Result<T, Refusal> + Send,
) -> Result<T, Refusal> {
    if height.levels <= LOW.levels && height.nested <= LOW.nested {
        return work(DEPTHS[0]);
    }
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK);
        let done = thread.spawn_scoped(scope, || work(DEPTHS[1]));
        done.ok().and_then(|it| it.join().ok())
    })
    .unwrap_or_else(|| {
        Err(Refusal::new(
            0,
            "there is not enough memory to parse a statement with this nesting",
            "write several statements",
        ))
    })
}
