//! How long things last: records on the server, connecting, looks of waiters.

use std::time::Duration;

use crate::{InvalidOption, MAX_COMMAND_TIMEOUT};

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

/// How long after its sending a request may still be carried out: longer than any manager waits for an
/// answer, so that no rightful request is refused.
pub(crate) const COPIES_LAST: Duration = Duration::from_secs(MAX_COMMAND_TIMEOUT.as_secs() * 2);

/// How long a key's last token is kept after its last acquisition, unless the backend's builder says otherwise. Longer
/// than any two clocks differ, so that tokens grow by the clock alone when the record is gone.
pub(crate) const FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 2);

/// The shortest and the longest that can be set.
const MIN_FENCE_TTL: Duration = Duration::from_secs(60 * 10);
const MAX_FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// How much sooner than `fence_ttl` a record may end: an acquire of a free lock sets its TTL only once in this time,
/// because that takes as long as two reads. 1000 s of two days.
pub(crate) fn fence_step(fence_ttl: Duration) -> Duration {
    fence_ttl * 10 / 1728
}

/// Checks that the last token of a lock outlasts its lease, and that the server can keep it for so long.
pub(crate) fn check_fence_ttl(fence_ttl: Duration, longest: Duration) -> Result<(), InvalidOption> {
    let (option, value) = ("fence_ttl", fence_ttl);
    let (least, most) = (MIN_FENCE_TTL.max(longest * 2), MAX_FENCE_TTL);
    if value < least {
        return Err(InvalidOption::TooShort {
            option,
            value,
            least,
        });
    }
    if value > most {
        return Err(InvalidOption::TooLong {
            option,
            value,
            most,
        });
    }
    Ok(())
}
