//! Estimates the clock of a server, so that the server can refuse late requests.

use std::time::Duration;

use parking_lot::Mutex;

use super::micros;
use leasehold_core::backend::support::clock::LeaseInstant;

/// The estimate, which exists after the first reply.
#[derive(Debug)]
pub(crate) struct ServerClock {
    start: LeaseInstant,
    /// The time after sending within which the server may still execute a request.
    requests_last: Duration,
    /// The server's microseconds at `start`, or a little more.
    server_start: Mutex<Option<u64>>,
}

impl ServerClock {
    pub(crate) fn new(requests_last: Duration) -> Self {
        Self {
            start: LeaseInstant::now(),
            requests_last,
            server_start: Mutex::default(),
        }
    }

    /// Updates the estimate from the reply to a request that the client sent at `sent`.
    pub(crate) fn observe(&self, sent: LeaseInstant, server_micros: u64) {
        let since_start = micros(sent.since(self.start));
        *self.server_start.lock() = Some(server_micros.saturating_sub(since_start));
    }

    /// Returns the server time from which the server refuses a request that the client sends at `sent`. Returns `None`
    /// before the first reply.
    pub(crate) fn expiry_at(&self, sent: LeaseInstant) -> Option<u64> {
        let server_start = (*self.server_start.lock())?;
        let since_start = micros(sent.since(self.start));
        let sent = server_start.saturating_add(since_start);
        Some(sent.saturating_add(micros(self.requests_last)))
    }

    /// Returns whether a request with this expiry cannot arrive any more, even if the estimate is wrong by minutes.
    pub(crate) fn is_long_before_now(&self, expiry: u64) -> bool {
        let margin = micros(self.requests_last * 4);
        self.expiry_at(LeaseInstant::now())
            .is_some_and(|now| expiry.saturating_add(margin) < now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_expiry_is_ahead_by_the_time_that_the_reply_took() {
        let clock = ServerClock::new(Duration::from_secs(60));
        let sent = LeaseInstant::now();
        assert_eq!(clock.expiry_at(sent), None);
        tokio::time::advance(Duration::from_secs(3)).await;
        clock.observe(sent, 10_000_000);
        assert_eq!(clock.expiry_at(LeaseInstant::now()), Some(73_000_000));
        clock.observe(LeaseInstant::now(), 10_000_000);
        assert_eq!(clock.expiry_at(LeaseInstant::now()), Some(70_000_000));
        tokio::time::advance(Duration::from_secs(240)).await;
        assert!(!clock.is_long_before_now(70_000_000));
        tokio::time::advance(Duration::from_micros(1)).await;
        assert!(clock.is_long_before_now(70_000_000));
    }
}
