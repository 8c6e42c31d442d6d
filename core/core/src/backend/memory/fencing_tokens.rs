//! Generates the fencing tokens of the in-process backend.

use std::time::{Duration, SystemTime};

use crate::FencingToken;
use crate::backend::BackendError;
use crate::backend::key_state::next_token;

/// The age from which the time of day is read again.
const REREAD: Duration = Duration::from_millis(1);

/// Generates tokens that always increase, and that follow the time of day.
///
/// The microseconds of the time of day, as read at most [`REREAD`] before, are the minimum. So after a restart of the
/// process tokens continue above the earlier tokens, unless the clock was set back. One counter serves all keys,
/// because this needs no memory per key. Tokens that increase over all keys also increase for each key.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    last: i64,
    /// The time of day, and when it was read, by the clock of the store.
    read: Option<(SystemTime, Duration)>,
    /// Whether tokens are numbered from 1, so that each run of a test has the same tokens.
    #[cfg(feature = "test-util")]
    numbered: bool,
}

impl Tokens {
    #[cfg(feature = "test-util")]
    pub(super) fn numbered() -> Self {
        Self {
            numbered: true,
            ..Self::default()
        }
    }

    pub(super) fn draw(&mut self, now: Duration) -> Result<FencingToken, BackendError> {
        #[cfg(feature = "test-util")]
        if self.numbered {
            return self.draw_at(SystemTime::UNIX_EPOCH);
        }
        let fresh = self.read.filter(|(_, at)| now < *at + REREAD);
        let (clock, _) = *self
            .read
            .insert(fresh.unwrap_or_else(|| (SystemTime::now(), now)));
        self.draw_at(clock)
    }

    fn draw_at(&mut self, clock: SystemTime) -> Result<FencingToken, BackendError> {
        let since_1970 = clock
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or(Duration::ZERO);
        let token = next_token(since_1970, self.last)?;
        self.last = token.get();
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_micros(micros)
    }

    #[test]
    fn tokens_follow_the_clock_and_increase_when_it_does_not() {
        let mut tokens = Tokens::default();
        let mut draw = |micros| tokens.draw_at(at(micros)).unwrap().get();
        assert_eq!(draw(1000), 1000);
        assert_eq!(draw(1000), 1001);
        assert_eq!(draw(500), 1002);
        assert_eq!(draw(2000), 2000);
    }

    #[test]
    fn the_time_of_day_is_read_again_after_a_millisecond() {
        let mut tokens = Tokens {
            read: Some((at(1000), Duration::ZERO)),
            ..Tokens::default()
        };
        let mut draw = |now| tokens.draw(now).unwrap().get();
        assert_eq!((draw(Duration::ZERO), draw(REREAD / 2)), (1000, 1001));
        assert!(draw(REREAD) > 1_000_000);
    }

    #[test]
    fn a_clock_beyond_2_to_the_53_is_refused_and_changes_nothing() {
        let mut tokens = Tokens::default();
        let error = tokens.draw_at(at(1 << 53)).unwrap_err();
        assert!(!error.is_temporary());
        assert_eq!(
            tokens.draw_at(at((1 << 53) - 1)).unwrap().get(),
            (1 << 53) - 1
        );
    }
}
