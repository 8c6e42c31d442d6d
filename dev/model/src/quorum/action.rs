//! The steps that a world can take.

/// One step. Rounds and nodes are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes, for everybody.
    Tick,
    /// Time passes, and this round's client does not notice.
    TickUnnoticedBy(usize),
    /// An acquire takes a free node, which draws a token; the client hears of it unless the answer is lost.
    /// With the first of them the round begins.
    Acquire {
        who: usize,
        node: usize,
        draw: u8,
        heard: bool,
    },
    /// A second copy of an acquire is answered with what the node has.
    AcquireAgain { who: usize, node: usize },
    /// A copy of an acquire is refused, for its round is over.
    AcquireLate { who: usize, node: usize },
    /// The client has the answers of these nodes, one bit each, and chooses its token.
    Count { who: usize, nodes: u8 },
    /// The client takes an answer in that came after it chose its token.
    CountLater { who: usize, node: usize },
    /// A raise is carried out.
    Raise { who: usize, node: usize },
    /// The client sends an extension to every node.
    Extend(usize),
    /// An extension is carried out.
    ExtendAt { who: usize, node: usize },
    /// The client gives up waiting for its extension.
    GiveUpExtension(usize),
    /// The round is given up, or the guard released.
    Leave(usize),
    /// A release is carried out; it is repeated until it is answered.
    Release {
        who: usize,
        node: usize,
        answered: bool,
    },
    /// A copy of a release arrives that a weakened client has sent too early.
    OldRelease { who: usize, node: usize },
    /// A holder writes to the resource, whether or not its guard is still valid.
    Write(usize),
    /// The lock expires on a node, however early.
    Expire(usize),
    /// A node saves its state.
    Save(usize),
    /// A node goes down, and loses what it did not save.
    Crash(usize),
    /// It votes again.
    Return(usize),
    /// A counter expires that was idle for long.
    Forget(usize),
}
