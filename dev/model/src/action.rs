//! The steps that a world can take.

/// One step. Attempts are named by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes, for everybody.
    Tick,
    /// Time passes, and this attempt's process does not notice.
    TickUnnoticedBy(usize),
    /// The client sends an acquire, its first or a further one.
    Ask(usize),
    /// The client of a task whose process has the lock does not ask yet.
    Park(usize),
    /// It has waited for too long, and is to ask.
    Unpark(usize),
    /// The request under way is carried out.
    Arrive(usize),
    /// The client takes the answer in.
    Answer(usize),
    /// The client gives up waiting for the answer.
    TimeOut(usize),
    /// A copy of an acquire that was not answered is carried out.
    LateAsk(usize),
    /// A copy of a renewal that was not answered is carried out.
    LateRenewal(usize),
    /// An answer arrives after its request was given up. Only a weakened client takes it in.
    SlowGrant(usize),
    /// The client takes a wake-up for the lock. Only a weakened client does.
    GuardFromHint(usize),
    /// A waiter takes what a release of its process has passed on to it.
    TakePass(usize),
    /// The caller drops its acquire.
    Cancel(usize),
    /// The client sends a renewal.
    Renew(usize),
    /// The guard is released or dropped.
    Release(usize),
    /// A release or cleanup is carried out and answered.
    Leave(usize),
    /// The same, but what it names is not the next in line, so that nothing is passed on.
    LeaveNamingNobody(usize),
    /// A release or cleanup is carried out, and its answer is lost.
    LeaveUnanswered(usize),
    /// A release that asks on behalf of a parked attempt is sent, and its answer will be lost.
    LeaveForUnheard(usize),
    /// Such a release is carried out. It is named by whom it asks for.
    LateLeaveFor(usize),
    /// The release or cleanup of the one and the acquire of the other are carried out in one call, and answered.
    Batch { leaver: usize, asker: usize },
    /// The same, and the answer to both is lost.
    BatchUnanswered { leaver: usize, asker: usize },
    /// A holder writes to the resource, whether or not its guard is still valid.
    Write(usize),
    /// A task dies without a cleanup, and its process lives on.
    Die(usize),
    /// A whole process dies.
    ProcessDies(u8),
    /// A process is not reached by what is published any more.
    Disconnect(u8),
    /// It is reached again, and all its waiters look.
    Reconnect(u8),
    /// A wake-up is lost.
    LoseHint(usize),
    /// A foreign program takes the lock, if it is free.
    ForeignTakes,
    /// It releases it, which wakes nobody.
    ForeignReleases,
    /// Somebody deletes the lock's key, or makes it expire at once.
    ForeignDeletes,
    /// Somebody overwrites the lock's key, and sets no TTL.
    ForeignOverwrites,
    /// An operator forces the lock open.
    Force,
    /// The server forgets everything.
    MemoryLoss,
    /// Another server becomes the primary with a copy of the state, and the old one goes on serving.
    Promote,
    /// The clients follow to the new primary.
    Follow,
}
