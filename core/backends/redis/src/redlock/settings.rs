//! Checked settings of a Redlock backend.

use std::time::Duration;

use super::node_scripts::CLAMP;
use crate::time_limits::{FENCE_TTL, check_fence_ttl};
use leasehold_core::backend::Capabilities;
use leasehold_core::{InvalidOption, MAX_TTL};

/// The settings for all nodes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RedlockSettings {
    pub(super) node_timeout: Duration,
    pub(super) max_ttl: Duration,
    pub(super) clock_difference: Duration,
    pub(super) fence_ttl: Duration,
    pub(super) durable: bool,
}

impl Default for RedlockSettings {
    fn default() -> Self {
        Self {
            node_timeout: Duration::from_millis(200),
            max_ttl: Duration::from_secs(60),
            clock_difference: Duration::from_secs(10),
            fence_ttl: FENCE_TTL,
            durable: false,
        }
    }
}

impl RedlockSettings {
    /// Returns how long a restarted node does not vote, or `None` if nodes are durable.
    pub(super) fn away(&self) -> Option<Duration> {
        // A server reports its uptime in whole seconds, and clocks may run at different rates.
        let away = self.max_ttl.max(self.clock_difference + CLAMP);
        (!self.durable).then(|| away.mul_f64(1.01) + Duration::from_secs(1))
    }

    /// Returns the features of a backend with these settings. The client waits up to a sixth of a lease for the reply
    /// to a renewal, so the shortest TTL gives each node the whole `node_timeout`.
    pub(super) fn capabilities(&self) -> Capabilities {
        Capabilities::new(self.node_timeout * 6)
            .with_most_ttl(self.max_ttl)
            .with_hold_at_least(true)
            .with_list(true)
    }

    pub(super) fn validate(&self) -> Result<(), InvalidOption> {
        let least = Duration::from_millis(1);
        if self.node_timeout < least {
            return Err(InvalidOption::TooShort {
                option: "node_timeout",
                value: self.node_timeout,
                least,
            });
        }
        if self.max_ttl > MAX_TTL {
            return Err(InvalidOption::TooLong {
                option: "max_ttl",
                value: self.max_ttl,
                most: MAX_TTL,
            });
        }
        if self.clock_difference > MAX_TTL {
            return Err(InvalidOption::TooLong {
                option: "clock_difference",
                value: self.clock_difference,
                most: MAX_TTL,
            });
        }
        let most = self.max_ttl / 6;
        if self.node_timeout > most {
            return Err(InvalidOption::TooLong {
                option: "node_timeout",
                value: self.node_timeout,
                most,
            });
        }
        check_fence_ttl(self.fence_ttl, self.max_ttl.max(self.clock_difference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restarted_node_does_not_vote_until_lost_leases_have_expired() {
        let seconds = Duration::from_secs;
        for (max_ttl, clock_difference, least) in [(60, 10, 60), (60, 59, 60), (60, 100, 101)] {
            let settings = RedlockSettings {
                max_ttl: seconds(max_ttl),
                clock_difference: seconds(clock_difference),
                ..RedlockSettings::default()
            };
            let away = settings.away().unwrap_or_default();
            assert!(away > seconds(least + 1), "{away:?}");
            assert!(away < seconds(least + 3), "{away:?}");
        }
    }

    #[test]
    fn settings_beyond_their_limits_are_refused() {
        let least = Duration::from_millis(1);
        let fits = |node_timeout, max_ttl, clock_difference| {
            let settings = RedlockSettings {
                node_timeout,
                max_ttl,
                clock_difference,
                durable: true,
                ..RedlockSettings::default()
            };
            settings.validate().is_ok()
        };
        assert!(fits(least, MAX_TTL, MAX_TTL));
        assert!(!fits(least / 2, MAX_TTL, MAX_TTL));
        assert!(!fits(least, MAX_TTL + least, MAX_TTL));
        assert!(!fits(least, MAX_TTL, MAX_TTL + least));
        assert!(fits(least * 10, least * 60, least));
        assert!(!fits(least * 11, least * 60, least));
    }
}
