//! Trees are read, compared and dropped level by level, on the stack.

use std::thread;

use super::refusal::Refusal;

/// Trees up to this height are read where the statement is.
pub(super) const LOW: Height = Height {
    levels: 250,
    nested: 8,
};
/// Higher ones are refused.
pub(super) const MOST: Height = Height {
    levels: 2_500,
    nested: 120,
};
/// The stack of the thread on which trees of any other height are read, in bytes.
const STACK: usize = 128 << 20;
/// How deep the parser may be within itself, for low trees and for others.
const DEPTHS: [usize; 2] = [60, 600];

/// How high a statement's tree may be.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Height {
    pub(super) levels: usize,
    /// How many brackets are within one another.
    pub(super) nested: usize,
}

/// Does the work on a stack that is large enough for a tree of this height. The work is told how deep the parser may go.
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
            "there is no memory to read a statement of this height",
            "write several statements",
        ))
    })
}
