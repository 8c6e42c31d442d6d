//! The rules of the protocol. Each of them can be left out, to show its purpose.

use crate::claim::Claim;
use crate::macros::weakenings;

weakenings! {
    Agreement: "one-phase", "the largest answer of a quorum is the token, and nobody is raised to it",
        in "quorum" breaks TokensDiffer TokensGrow Fenced;
    RaiseComparesOwner: "raise-without-owner-check", "a raise does not look whose lock it is",
        in "quorum" breaks TokensDiffer;
    RaiseEquals: "raise-acknowledged-above-the-token", "a raise is acknowledged if the counter is the token, or beyond it",
        in "quorum-duplicates-any" breaks TokensDiffer;
    Majority: "half-is-enough", "half of the nodes are a quorum",
        in "four-nodes" breaks TokensDiffer TokensGrow;
    OfAllNodes: "majority-of-granted", "a majority of the nodes that have granted is a quorum",
        in "quorum" breaks TokensDiffer TokensGrow Fenced;
    ExtensionComparesToken: "extension-by-owner", "an extension compares the owner, and not the token",
        in "quorum-extensions" breaks NoRevival;
    ExtensionComparesOwner: "extension-by-token", "an extension compares the token, and not the owner",
        in "quorum-empty-nodes" breaks Exclusion;
    TimeFloor: "quorum-no-floor", "a node draws its counter plus one, whatever the time",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    FloorIsTime: "hint-only", "a node draws its counter plus one or the hint, whatever its own time",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    HintCutOff: "hint-without-limit", "a node follows a hint however far it is ahead",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    StaysAway: "vote-immediately-after-state-loss", "a node that lost its state votes at once",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    AwayForHints: "vote-after-clock-difference", "a node that lost its state votes when it was away for as long as clocks differ",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    AwayForLonger: "vote-exactly-at-the-limit", "a node that lost its state votes when it was away for exactly as long as tokens may be ahead",
        in "quorum-restarts" breaks TokensDiffer TokensGrow;
    FailoverLater: "failover-too-soon", "another server takes over although clocks differ by as long",
        in "one-server" breaks TokensDiffer TokensGrow;
    AwayForLeases: "old-state-too-early", "a node with an older state votes when tokens are past, though guards may still be made of what it forgot",
        in "quorum-old-state" breaks TokensDiffer;
    CounterOutlives: "counter-ends-early", "a counter expires once it is idle for as long as clocks differ",
        in "quorum-idle" breaks TokensDiffer TokensGrow;
    Expiry: "quorum-no-expiry", "an acquire does not expire",
        in "lost-tombstones" breaks NoGhost;
    Seal: "quorum-no-tombstone", "a release leaves no tombstone",
        in "lost-tombstones" breaks NoGhost;
    ExtensionByQuorum: "extension-by-minority", "one node's answer extends the lease",
        in "quorum-guards" breaks Exclusion NoRevival;
    ValidityAtEnd: "validity-unchecked", "a guard is made although the validity ended while nodes were raised",
        in "quorum-guards" breaks Exclusion NoRevival;
    ValidityFromBegin: "validity-from-raise", "the validity counts from the sending of the raise",
        in "quorum-guards" breaks Exclusion;
    ExtensionFails: "failed-extension-releases", "a client whose extension fails releases, and its guard stays valid",
        in "quorum-guards" breaks Exclusion;
    DriftMargin: "quorum-no-margin", "validity leaves no margin for clocks that differ",
        in "quorum-drift" breaks Exclusion;
    ReleaseKeepsCounter: "release-deletes-counter", "a release deletes the counter too",
        in "quorum-drift" breaks TokensDiffer TokensGrow;
    AwayForTtl: "vote-before-ttl", "a node that lost its state votes before all leases of that time are over",
        in "quorum-empty-nodes" breaks Exclusion;
    AwayForCopies: "vote-before-expiry", "a node that lost its tombstones votes while copies of acquires may still come",
        in "lost-tombstones" breaks NoGhost;
}
