//! The options of a lock, and their validation.

use std::borrow::Cow;
use std::panic::Location;
use std::time::Duration;

use super::LockOptions;
use super::label::{self, MAX_LABEL_BYTES, interned};
use super::mode::Mode;

/// The default TTL: with renewal on, a lock stays taken for this time after its holder has crashed.
pub const DEFAULT_TTL: Duration = Duration::from_secs(30);

/// The longest TTL: use renewal to hold a lock longer.
pub const MAX_TTL: Duration = Duration::from_secs(60 * 60 * 24);

/// The shortest TTL: a shorter lease would consist only of the margin for clock drift.
const LEAST_TTL: Duration = Duration::from_millis(5);

/// The largest number of permits of a semaphore. The number is limited, because each permit is an entry with its own
/// expiry.
pub const MAX_PERMITS: u32 = 10_000;

/// The largest number of keys in one lock set.
pub const MAX_KEYS: usize = 64;

/// The default prefix of every key.
pub const DEFAULT_PREFIX: &str = "lock:";

/// The default time that one command to the backend may take.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest command timeout: a backend may refuse requests that are much older.
pub const MAX_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// The default time for which an acquire retries while the backend fails.
pub const DEFAULT_BACKEND_RETRY_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the result of `once` is kept by default.
#[cfg(feature = "once")]
pub const DEFAULT_RETENTION: Duration = Duration::from_secs(60 * 60 * 24);

/// The longest time for which the result of `once` is kept.
#[cfg(feature = "once")]
pub const MAX_RETENTION: Duration = Duration::from_secs(60 * 60 * 24 * 366);

/// The largest result of `once` that can be recorded, in bytes of JSON: 1 MiB.
#[cfg(feature = "once")]
pub const MAX_RESULT_BYTES: usize = 1024 * 1024;

/// The options of one acquisition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcquireOptions {
    pub(crate) mode: Mode,
    pub(crate) ttl: Duration,
    /// The longest wait; `None` means that an acquire waits forever.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    /// How long the lock stays taken at least, even if it is released before.
    pub(crate) hold_at_least: Option<Duration>,
    pub(crate) renewal: bool,
    /// Whether a waiter has its turn in the queue.
    pub(crate) fair: bool,
    /// Whether an acquire retries temporary errors for its whole wait, even longer than the backend retry timeout.
    pub(crate) outlasts_outages: bool,
    /// Whether the error of an acquire that timed out names the holder.
    pub(crate) report_holder: bool,
    /// The name of the lock in metrics and spans.
    pub(crate) name: Option<&'static str>,
    /// Where the user's code calls `acquire`, or creates the lock if it calls `run`.
    pub(crate) place: Option<&'static Location<'static>>,
}

impl Default for AcquireOptions {
    fn default() -> Self {
        Self {
            mode: Mode::Exclusive,
            ttl: DEFAULT_TTL,
            wait: None,
            max_hold: None,
            hold_at_least: None,
            renewal: true,
            fair: true,
            outlasts_outages: false,
            report_holder: false,
            name: None,
            place: None,
        }
    }
}

impl AcquireOptions {
    /// Replaces the options that are set.
    pub(crate) fn apply(&mut self, set: &LockOptions) {
        self.ttl = set.ttl.unwrap_or(self.ttl);
        self.wait = set.wait.or(self.wait);
        self.max_hold = set.max_hold.or(self.max_hold);
        self.hold_at_least = set.hold_at_least.or(self.hold_at_least);
        self.renewal = set.renewal.unwrap_or(self.renewal);
        self.name = match &set.name {
            None => self.name,
            Some(Cow::Borrowed(name)) => Some(name),
            Some(Cow::Owned(name)) => Some(interned(name)),
        };
        self.report_holder = set.report_holder.unwrap_or(self.report_holder);
    }

    /// Checks the options; the backend supports TTLs from `least` to `most`.
    pub(crate) fn validate(&self, least: Duration, most: Duration) -> Result<(), InvalidOption> {
        let (least_ttl, most_ttl) = (least.max(LEAST_TTL), most.min(MAX_TTL));
        if self.ttl < least_ttl {
            return Err(InvalidOption::TooShort {
                option: "ttl",
                value: self.ttl,
                least: least_ttl,
            });
        }
        if self.ttl > most_ttl {
            return Err(InvalidOption::TooLong {
                option: "ttl",
                value: self.ttl,
                most: most_ttl,
            });
        }
        if let Some(max_hold) = self.max_hold {
            at_least_a_millisecond("max_hold", max_hold)?;
        }
        let Some(hold_at_least) = self.hold_at_least else {
            return Ok(());
        };
        if hold_at_least > most_ttl {
            return Err(InvalidOption::TooLong {
                option: "hold_at_least",
                value: hold_at_least,
                most: most_ttl,
            });
        }
        at_least_a_millisecond("hold_at_least", hold_at_least)
    }

    /// Returns the duration of each lease. The lease lasts for `hold_at_least`, so that the lock also stays taken if its
    /// holder crashes.
    pub(crate) fn lease_ttl(&self) -> Duration {
        self.ttl.max(self.hold_at_least.unwrap_or_default())
    }
}

/// Checks the requested number of permits.
pub(crate) const fn validate_permits(asked: u32, of: u32) -> Result<(), InvalidOption> {
    if of > MAX_PERMITS {
        return Err(InvalidOption::TooManyPermits { of });
    }
    if asked == 0 || asked > of {
        return Err(InvalidOption::Permits { asked, of });
    }
    Ok(())
}

/// Returns a valid label in the form that attempt ids contain.
///
/// # Errors
///
/// Returns the reason why the label is invalid.
pub fn validate_label(label: &str) -> Result<&'static str, InvalidOption> {
    label::validated(label).ok_or_else(|| InvalidOption::Label {
        value: label.chars().take(MAX_LABEL_BYTES).collect(),
    })
}

/// The limits that a manager sets for its backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) command: Duration,
    pub(crate) outage: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command: DEFAULT_COMMAND_TIMEOUT,
            outage: DEFAULT_BACKEND_RETRY_TIMEOUT,
        }
    }
}

impl Limits {
    pub(crate) fn validate(&self) -> Result<(), InvalidOption> {
        if self.command > MAX_COMMAND_TIMEOUT {
            return Err(InvalidOption::TooLong {
                option: "command_timeout",
                value: self.command,
                most: MAX_COMMAND_TIMEOUT,
            });
        }
        at_least_a_millisecond("command_timeout", self.command)
    }
}

pub(crate) fn at_least_a_millisecond(
    option: &'static str,
    value: Duration,
) -> Result<(), InvalidOption> {
    let least = Duration::from_millis(1);
    if value < least {
        return Err(InvalidOption::TooShort {
            option,
            value,
            least,
        });
    }
    Ok(())
}

/// An option of a lock or a manager is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOption {
    /// The value is too short.
    #[error("{option} is {value:?}, which is too short; give at least {least:?}")]
    TooShort {
        /// The option's name.
        option: &'static str,
        /// The invalid value.
        value: Duration,
        /// The shortest valid value.
        least: Duration,
    },
    /// The value is too long.
    #[error("{option} is {value:?}, which is too long; give at most {most:?}")]
    TooLong {
        /// The option's name.
        option: &'static str,
        /// The invalid value.
        value: Duration,
        /// The longest valid value.
        most: Duration,
    },
    /// The caller requested zero permits, or more permits than the semaphore has.
    #[error("permits is {asked}, but must be between 1 and {of}")]
    Permits {
        /// The number of permits that the caller requested.
        asked: u32,
        /// The number of permits that the semaphore has.
        of: u32,
    },
    /// The label of the manager is invalid.
    #[error(
        "label is {value:?}, but must have 1 to {MAX_LABEL_BYTES} printable ASCII characters, without spaces"
    )]
    Label {
        /// The beginning of the invalid label.
        value: Box<str>,
    },
    /// The lock set has no keys.
    #[error("a lock set needs at least one key")]
    NoKeys,
    /// The lock set has too many keys.
    #[error("a lock set of {count} keys is too large; give at most {MAX_KEYS}")]
    TooManyKeys {
        /// The number of distinct keys.
        count: usize,
    },
    /// The semaphore has too many permits.
    #[error("a semaphore of {of} permits is too large; give at most {MAX_PERMITS}")]
    TooManyPermits {
        /// The invalid number of permits.
        of: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_out_of_bounds_is_refused_by_name_with_the_remedy() {
        let least = Duration::from_millis(10);
        let with = |change: fn(&mut AcquireOptions)| {
            let mut options = AcquireOptions::default();
            change(&mut options);
            options.validate(least, MAX_TTL).map_err(|e| e.to_string())
        };
        assert_eq!(with(|_| ()), Ok(()));
        assert_eq!(with(|o| o.ttl = Duration::from_millis(10)), Ok(()));
        assert_eq!(
            with(|o| o.ttl = Duration::from_millis(9)),
            Err("ttl is 9ms, which is too short; give at least 10ms".to_owned())
        );
        assert_eq!(
            with(|o| o.ttl = Duration::MAX).map_err(|e| e.contains("give at most 86400s")),
            Err(true)
        );
        assert_eq!(
            with(|o| o.max_hold = Some(Duration::ZERO)),
            Err("max_hold is 0ns, which is too short; give at least 1ms".to_owned())
        );
        assert_eq!(with(|o| o.hold_at_least = Some(MAX_TTL)), Ok(()));
        let long = "x".repeat(MAX_LABEL_BYTES + 1);
        let error = validate_label(&long).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "label is {:?}, but must have 1 to 64 printable ASCII characters, without spaces",
                &long[1..]
            )
        );
        assert_eq!(
            with(|o| o.hold_at_least = Some(MAX_TTL + Duration::from_secs(1))),
            Err("hold_at_least is 86401s, which is too long; give at most 86400s".to_owned())
        );
        assert_eq!(
            with(|o| o.hold_at_least = Some(Duration::ZERO)),
            Err("hold_at_least is 0ns, which is too short; give at least 1ms".to_owned())
        );
    }
}
