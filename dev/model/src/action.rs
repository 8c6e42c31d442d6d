//! The steps that a world can take.

/// One step. Attempts are identified by their index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Time passes for all.
    Tick,
    /// Time passes, and this attempt's process does not notice.
    TickUnnoticedBy(usize),
    /// The client sends an acquire, its first one or a repeated one.
    Ask(usize),
    /// The client of a task whose process has the lock waits before it sends its acquire.
    Park(usize),
    /// A parked client has waited for too long, and must send its acquire.
    Unpark(usize),
    /// The server executes the request in flight.
    Arrive(usize),
    /// The client receives the answer.
    Answer(usize),
    /// The client stops waiting for the answer.
    TimeOut(usize),
    /// The server executes a duplicate of an unanswered acquire.
    LateAsk(usize),
    /// The server executes a duplicate of an unanswered renewal.
    LateRenewal(usize),
    /// An answer arrives after its request timed out. Only a weakened client accepts it.
    SlowGrant(usize),
    /// The client treats a notification as a grant. Only a weakened client does.
    GuardFromHint(usize),
    /// A waiter accepts a direct hand-off from a release of its process.
    TakePass(usize),
    /// The caller drops its acquire.
    Cancel(usize),
    /// The client sends a renewal.
    Renew(usize),
    /// The client sends the outcome of its body.
    Record(usize),
    /// The server executes an unanswered record again, or for the first time.
    LateRecord(usize),
    /// The guard is released or dropped.
    Release(usize),
    /// The server executes and answers a release or cleanup.
    Leave(usize),
    /// Like `Leave`, but the release names a waiter that is not the next one, so the server does not hand the lock off.
    LeaveNamingNobody(usize),
    /// The server executes a release or cleanup, and the answer is lost.
    LeaveUnanswered(usize),
    /// The client sends a release that requests the lock for a parked attempt. Its answer will be lost.
    LeaveForUnheard(usize),
    /// The server executes such a release. The step is identified by the parked attempt.
    LateLeaveFor(usize),
    /// The server executes and answers a release or cleanup of one attempt and an acquire of another one, in one call.
    Batch { leaver: usize, asker: usize },
    /// Like `Batch`, but the answer to both is lost.
    BatchUnanswered { leaver: usize, asker: usize },
    /// A holder writes to the resource, whether or not its guard is still valid.
    Write(usize),
    /// A task dies without a cleanup, and its process continues.
    Die(usize),
    /// A process dies with all its tasks.
    ProcessDies(u8),
    /// A process no longer receives published messages.
    Disconnect(u8),
    /// The process receives messages again, and all its waiters poll.
    Reconnect(u8),
    /// A notification is lost.
    LoseHint(usize),
    /// A foreign program acquires the lock, if it is free.
    ForeignTakes,
    /// The foreign program releases the lock, without a notification.
    ForeignReleases,
    /// A foreign program deletes the lock's key, or makes it expire immediately.
    ForeignDeletes,
    /// A foreign program overwrites the lock's key without a TTL.
    ForeignOverwrites,
    /// An operator force-releases the lock.
    Force,
    /// The server loses all data.
    MemoryLoss,
    /// Another server becomes the primary with a copy of the state, and the old one continues.
    Promote,
    /// The clients connect to the new primary.
    Follow,
}
