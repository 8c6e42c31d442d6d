//! Events that must be possible, so that no claim holds only because nothing happens.

use crate::macros::reachable;

reachable! {
    OneRoundTrip, "a quorum answers the same token, and nobody has to be raised";
    Raised, "a raise makes a quorum agree";
    RaiseRefused, "a raise comes to a node whose lock is not the round's any more, or whose counter is beyond";
    SplitVote, "every node is taken, and nobody has a quorum";
    LaterGuard, "a round that began after a grant gets a guard of its own";
    SecondCopyAnswered, "a second copy of an acquire is answered with the token of the first";
    TakenAnew, "a late copy of an acquire takes a node anew, under a new token";
    LaterAnswerCounts, "an answer that came after the token was chosen makes the quorum";
    Extended, "a quorum extends a lease";
    ExtensionRefused, "an extension comes to a node that has another holder, or a counter beyond";
    LateCopyRefused, "an acquire comes after its round was released, and is refused";
    TooLate, "a quorum agrees when the validity is over";
    VotesAgain, "a node that lost its state counts for a guard again";
    OlderState, "a node comes back with an older state, in which another round has the lock";
    CounterExpired, "a counter expires";
}
