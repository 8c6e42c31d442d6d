//! The steps that a world can take.

/// One step. Rounds and nodes are identified by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes for all.
    Tick,
    /// Time passes, and this round's client does not notice.
    TickUnnoticedBy(usize),
    /// A free node executes an acquire, and draws a token. The client gets the answer unless it is lost. The first such
    /// step begins the round.
    Acquire {
        who: usize,
        node: usize,
        draw: u8,
        heard: bool,
    },
    /// A node answers a duplicate of an acquire with its current token.
    AcquireAgain { who: usize, node: usize },
    /// A node refuses a duplicate of an acquire, because its round is over.
    AcquireLate { who: usize, node: usize },
    /// The client has the answers of these nodes, one bit each, and chooses its token.
    Count { who: usize, nodes: u8 },
    /// The client receives an answer after it has chosen its token.
    CountLater { who: usize, node: usize },
    /// A node executes a raise.
    Raise { who: usize, node: usize },
    /// The client sends an extension to every node.
    Extend(usize),
    /// A node executes an extension.
    ExtendAt { who: usize, node: usize },
    /// The client stops waiting for its extension.
    GiveUpExtension(usize),
    /// The client gives up the round, or releases the guard.
    Leave(usize),
    /// A node executes a release. The client repeats it until it is answered.
    Release {
        who: usize,
        node: usize,
        answered: bool,
    },
    /// A duplicate of a release arrives that a weakened client has sent too early.
    OldRelease { who: usize, node: usize },
    /// A holder writes to the resource, whether or not its guard is still valid.
    Write(usize),
    /// The lock expires on a node, possibly very early.
    Expire(usize),
    /// A node saves its state.
    Save(usize),
    /// A node crashes, and loses all unsaved data.
    Crash(usize),
    /// A crashed node votes again.
    Return(usize),
    /// A counter that was idle for long expires.
    Forget(usize),
}
