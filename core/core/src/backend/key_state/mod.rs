//! The state machine of one key, for backends that store one record per key and can compare-and-set it.
//!
//! **Unstable**, like the [`Backend`](super::Backend) trait: this module may change in any minor release.
//!
//! [`KeyState`] contains the holders, the waiters and the recorded outcome of a key. Its methods are the operations of a
//! backend. Each method changes the state as of the time in its [`Step`], and calls the step's function for each waiter
//! to notify. The methods read no clock and do no I/O. A backend therefore executes an operation in these steps:
//!
//! 1. Read the record, with its version and the store's clock.
//! 2. Call the method.
//! 3. Write the state if the version has not changed. Otherwise begin again with step 1.
//! 4. Notify the waiters.
//!
//! A backend of this kind must also prevent an operation whose caller has gone from taking effect later; see the
//! contract of [`Backend`](super::Backend).
//!
//! # Examples
//!
//! A release grants the lock to the waiter, and the waiter confirms the grant with its next attempt:
//!
//! ```
//! use std::time::Duration;
//!
//! use leasehold::backend::key_state::{KeyState, Step, Timing, next_token};
//! use leasehold::backend::{Attempt, AttemptAnswer};
//! use leasehold::Key;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = Key::new("", "order:42")?;
//! let ttl = Duration::from_secs(30);
//! let (holder, waiter) = (Attempt::new(key.clone(), ttl, true), Attempt::new(key, ttl, true));
//! let (now, mut notified) = (Duration::from_secs(1_800_000_000), Vec::new());
//!
//! let mut state = KeyState::default();
//! let mut notify = |owner, _: &()| notified.push(owner);
//! let mut step = Step::new(now, Timing::default(), &mut notify);
//! let answer = state.attempt(&holder, || next_token(now, 0), &mut step)?;
//! let AttemptAnswer::Granted { token, .. } = answer else { panic!("the lock was free") };
//! let answer = state.attempt(&waiter, || next_token(now, token.get()), &mut step)?;
//! assert!(matches!(answer, AttemptAnswer::Busy { .. }));
//!
//! let record = state.encode();
//! let mut state = KeyState::decode(&record)?;
//! state.release(&holder.claim(token), &mut step);
//! assert!(state.holds(waiter.owner));
//! assert_eq!(notified, [waiter.owner]);
//! # Ok(())
//! # }
//! ```

mod encoding;
mod exclusive_lease;
mod state;
mod wait_queue;

use std::fmt;
use std::time::Duration;

pub use encoding::DecodeError;
pub use exclusive_lease::ExclusiveLease;
pub use state::KeyState;

use super::BackendError;
use crate::{AttemptId, FencingToken};

/// JSON and Lua, for example, do not represent larger numbers exactly. The clock reaches this number in the year 2255.
const TOKEN_LIMIT: i64 = 1 << 53;

/// The circumstances of one operation: the time, and how to notify waiters.
///
/// The time is the time of the store's clock since any fixed moment, and it must not decrease from one step of a key to
/// the next.
pub struct Step<'a, W = ()> {
    now: Duration,
    timing: Timing,
    notify: &'a mut dyn FnMut(AttemptId, &W),
}

impl<'a, W> Step<'a, W> {
    /// Creates a step at `now`. The operation calls `notify` for each waiter that should repeat its attempt. Notify a
    /// waiter only after the new state is stored.
    pub fn new(now: Duration, timing: Timing, notify: &'a mut dyn FnMut(AttemptId, &W)) -> Self {
        Self {
            now,
            timing,
            notify,
        }
    }

    /// Returns the end of a lease that begins now.
    fn lease_end(&self, ttl: Duration) -> Duration {
        self.now + ttl + self.timing.clock_step
    }

    /// Returns the rest of a lease, which is never longer than its TTL.
    fn left_until(&self, lease_end: Duration) -> Duration {
        (lease_end - self.now).saturating_sub(self.timing.clock_step)
    }
}

impl<W> fmt::Debug for Step<'_, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step")
            .field("now", &self.now)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

/// The times that a backend gives its waiters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timing {
    /// The time after which a waiter that stops polling loses its position. The default is 6 s.
    pub waiter_lease: Duration,
    /// The interval at which a waiter repeats its attempt to keep its position. The default is 2 s. If the backend
    /// keeps the positions itself, with [`KeyState::keep_positions`], the interval may exceed `waiter_lease`.
    pub refresh: Duration,
    /// The age from which a position is renewed. A backend that stores records can so avoid a write for a younger
    /// position. The default is zero.
    pub renew_after: Duration,
    /// The time within which a waiter must confirm a grant. The default is 2 s.
    pub grant: Duration,
    /// The same for a grant that replaces an expired lease or an expired grant. Waiters that poll when a lease expires can
    /// confirm such a grant sooner. The default is 2 s.
    pub grant_after_expiry: Duration,
    /// The steps in which the store's clock advances. A lease may begin up to one step after the time that the clock
    /// shows, so a lease lasts for its TTL and one step. The default is zero.
    pub clock_step: Duration,
}

impl Timing {
    /// Returns the default times.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            waiter_lease: Duration::from_secs(6),
            refresh: Duration::from_secs(2),
            renew_after: Duration::ZERO,
            grant: Duration::from_secs(2),
            grant_after_expiry: Duration::from_secs(2),
            clock_step: Duration::ZERO,
        }
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the token after `last` (0 if no token is known): the greater of the clock's microseconds and `last + 1`. So
/// tokens increase even if the store has lost the last token, unless its clock was set back.
///
/// # Errors
///
/// Returns a permanent error if the token would not be less than 2^53, which not all programs represent exactly.
pub fn next_token(since_1970: Duration, last: i64) -> Result<FencingToken, BackendError> {
    let floor = i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX);
    let next = floor.max(last.saturating_add(1));
    match FencingToken::try_from(next) {
        Ok(token) if next < TOKEN_LIMIT => Ok(token),
        _ => Err(BackendError::not_applied(format!(
            "the next fencing token, {next}, would exceed 2^53; correct this machine's clock"
        ))
        .permanent()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;
    use crate::backend::{Attempt, AttemptAnswer};

    #[test]
    fn a_lease_lasts_one_step_of_the_clock_longer_than_its_ttl() {
        let (ttl, clock_step) = (Duration::from_secs(30), Duration::from_millis(1));
        let timing = Timing {
            clock_step,
            ..Timing::new()
        };
        let [first, second] =
            [(); 2].map(|()| Attempt::new(Key::new("", "k").unwrap(), ttl, false));
        let mut state = KeyState::default();
        let mut attempt = |attempt, now| {
            let mut notify = |_, (): &()| {};
            let mut step = Step::new(now, timing, &mut notify);
            let answer = state
                .attempt(attempt, || next_token(now, 0), &mut step)
                .unwrap();
            matches!(answer, AttemptAnswer::Granted { .. })
        };
        let begin = Duration::from_secs(1);
        assert!(attempt(&first, begin));
        assert!(!attempt(&second, begin + ttl));
        assert!(attempt(&second, begin + ttl + clock_step));
    }
}
