//! How long the records of the scripts are kept.

use std::time::Duration;

/// How long a server may take to accept a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How old a connection is at least before it is given up because its server takes no writes.
pub(crate) const READ_ONLY_FOR: Duration = Duration::from_secs(1);

/// How long a waiter that falls silent keeps its place, on the server's clock.
pub(crate) const WAITER_LEASE: Duration = Duration::from_secs(33);

/// How often a waiter repeats its attempt to keep its place. A little more than ten seconds: with the looks of
/// the first among them a thousand waiters still send less than a hundred commands a second.
pub(crate) const REFRESH: Duration = Duration::from_secs(11);

/// How often the first waiter looks: a foreign holder releases with a bare `DEL` and wakes nobody.
pub(crate) const FIRST_LOOKS: Duration = Duration::from_secs(1);

/// How long a waiter that was handed the lock has to confirm it.
pub(crate) const GRANT_TTL: Duration = Duration::from_secs(2);

/// How long a key's counter outlives its last acquisition, or up to 17 minutes less, as `times.lua` says, or less by as
/// much as the clock was set back: a token that is ahead of the clock does not say when it was drawn. Longer than any
/// two clocks differ, so that the time floor alone keeps tokens growing when it is gone, and short enough that a million
/// one-off keys do not stay.
pub(crate) const FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 2);
