//! The options of a lock as one value.

use std::borrow::Cow;
use std::time::Duration;

/// The options of a lock as one value, which every builder takes: to set the same options in several places, or to read
/// them from a configuration file.
///
/// An option that is `None` keeps the value that the builder has, such as the default of the manager. A later option
/// replaces an earlier one.
///
/// With the feature `serde`, each duration is a text such as `30s` or `1m 30s`, and an unknown option is an error.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), leasehold::Error> {
/// use std::time::Duration;
/// use leasehold::{LockManager, LockOptions};
///
/// let orders = LockOptions::new()
///     .ttl(Duration::from_secs(10))
///     .wait(Duration::from_secs(5))
///     .name("order");
/// let locks = LockManager::in_process();
/// let guard = locks.lock("order:42").options(&orders).acquire().await?;
/// # guard.release().await?;
/// let both = locks.lock_all(["order:42", "order:43"]).options(&orders).acquire().await?;
/// # both.release().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Deserialize, serde::Serialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct LockOptions {
    /// How long the lock stays taken after its holder stops renewing: see [`Lock::ttl`](crate::Lock::ttl).
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub ttl: Option<Duration>,
    /// How long an acquire waits for a busy lock: see [`Lock::wait`](crate::Lock::wait).
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub wait: Option<Duration>,
    /// The longest hold time: see [`Lock::max_hold`](crate::Lock::max_hold).
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub max_hold: Option<Duration>,
    /// The shortest time for which the lock stays taken: see [`Lock::hold_at_least`](crate::Lock::hold_at_least).
    #[cfg_attr(feature = "serde", serde(with = "humantime_serde"))]
    pub hold_at_least: Option<Duration>,
    /// Whether the lease is renewed automatically: see [`Lock::without_renewal`](crate::Lock::without_renewal).
    pub renewal: Option<bool>,
    /// The name of the lock in metrics and spans: see [`Lock::name`](crate::Lock::name).
    pub name: Option<Cow<'static, str>>,
    /// Whether the error of an acquire that timed out names the holder: see
    /// [`Lock::report_holder`](crate::Lock::report_holder).
    pub report_holder: Option<bool>,
}

impl LockOptions {
    /// Creates options that change nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns these options, where each option that `other` sets replaces this one.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            ttl: other.ttl.or(self.ttl),
            wait: other.wait.or(self.wait),
            max_hold: other.max_hold.or(self.max_hold),
            hold_at_least: other.hold_at_least.or(self.hold_at_least),
            renewal: other.renewal.or(self.renewal),
            name: other.name.clone().or(self.name),
            report_holder: other.report_holder.or(self.report_holder),
        }
    }

    /// Sets [`ttl`](Self#structfield.ttl).
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// Sets [`wait`](Self#structfield.wait).
    #[must_use]
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = Some(wait);
        self
    }

    /// Sets [`max_hold`](Self#structfield.max_hold).
    #[must_use]
    pub fn max_hold(mut self, max_hold: Duration) -> Self {
        self.max_hold = Some(max_hold);
        self
    }

    /// Sets [`hold_at_least`](Self#structfield.hold_at_least).
    #[must_use]
    pub fn hold_at_least(mut self, hold_at_least: Duration) -> Self {
        self.hold_at_least = Some(hold_at_least);
        self
    }

    /// Sets [`renewal`](Self#structfield.renewal) to `false`.
    #[must_use]
    pub fn without_renewal(mut self) -> Self {
        self.renewal = Some(false);
        self
    }

    /// Sets [`name`](Self#structfield.name). The process keeps each different name of a configuration file in memory until
    /// it ends.
    #[must_use]
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets [`report_holder`](Self#structfield.report_holder) to `true`.
    #[must_use]
    pub fn report_holder(mut self) -> Self {
        self.report_holder = Some(true);
        self
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_a_configuration_and_written_back() {
        let json = r#"{"ttl":"10s","wait":"1m 30s","renewal":false,"name":"order"}"#;
        let read: LockOptions = serde_json::from_str(json).unwrap();
        let built = LockOptions::new()
            .ttl(Duration::from_secs(10))
            .wait(Duration::from_secs(90))
            .without_renewal()
            .name("order");
        assert_eq!(read, built);
        let written = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<LockOptions>(&written).unwrap(), read);
    }

    #[test]
    fn an_unknown_option_or_a_duration_without_a_unit_is_refused_by_name() {
        for (json, part) in [
            (r#"{"tll":"10s"}"#, "tll"),
            (r#"{"ttl":"10"}"#, "a duration"),
        ] {
            let refused = serde_json::from_str::<LockOptions>(json).unwrap_err();
            assert!(refused.to_string().contains(part), "{refused}");
        }
    }
}
