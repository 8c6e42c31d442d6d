//! Durations: of records on the server, of connecting, and between polls of waiters.

use std::time::Duration;

use leasehold_core::{InvalidOption, MAX_COMMAND_TIMEOUT};

/// The time limit for a server to accept a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The minimum age at which the client drops a connection because the server refuses writes.
pub(crate) const READ_ONLY_FOR: Duration = Duration::from_secs(1);

/// The time after which a waiter that stops polling loses its position, on the server's clock.
pub(crate) const WAITER_LEASE: Duration = Duration::from_secs(33);

/// The interval at which a waiter repeats its attempt to keep its position. This is a little more than ten seconds. So
/// a thousand waiters send fewer than a hundred commands a second, including the polls of the first waiter.
pub(crate) const REFRESH: Duration = Duration::from_secs(11);

/// The interval at which the first waiter polls, because other programs release with a bare `DEL`, which notifies no
/// waiter.
pub(crate) const FIRST_LOOKS: Duration = Duration::from_secs(1);

/// The time within which a waiter must confirm a grant.
pub(crate) const GRANT_TTL: Duration = Duration::from_secs(2);

/// The time after sending within which the server may still execute a request. No manager waits longer for a reply, so
/// that the server never refuses a valid request.
pub(crate) const REQUESTS_LAST: Duration = Duration::from_secs(MAX_COMMAND_TIMEOUT.as_secs() * 2);

/// The default time for which the server keeps a key's last token after the last acquisition. This is longer than the
/// difference between any two clocks. So after the server has deleted the record, the clock alone makes tokens
/// increase.
pub(crate) const FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 2);

/// The shortest and the longest fence TTL that a builder accepts.
const MIN_FENCE_TTL: Duration = Duration::from_secs(60 * 10);
const MAX_FENCE_TTL: Duration = Duration::from_secs(60 * 60 * 24 * 365);

/// Returns how much earlier than `fence_ttl` a record may end. For two days this is 1000 s. An acquire of a free lock
/// sets the record's TTL only once in this time, because setting it takes as long as two reads.
pub(crate) fn fence_step(fence_ttl: Duration) -> Duration {
    fence_ttl * 10 / 1728
}

/// Checks that the last token of a lock outlasts the lease, and that `fence_ttl` is within the limits.
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
