//! The options of a lock, checked once.

use std::time::Duration;

/// The TTL of a lock that names none: with renewal on, how long after its holder's crash a lock stays taken.
pub const DEFAULT_TTL: Duration = Duration::from_secs(30);

/// The longest TTL: a longer hold is what renewal is for.
pub const MAX_TTL: Duration = Duration::from_secs(60 * 60 * 24);

/// Below this nothing is left of a lease but the margin for drifting clocks.
const LEAST_TTL: Duration = Duration::from_millis(5);

/// The most permits that a semaphore can have: each is an entry of its own, with its own end.
pub const MAX_PERMITS: u32 = 10_000;

/// The most keys that can be locked as one.
pub const MAX_KEYS: usize = 64;

/// The prefix of every key of a manager that names none.
pub const DEFAULT_PREFIX: &str = "lock:";

/// How long one command to the backend may take, unless the manager says otherwise.
pub const DEFAULT_COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The longest command timeout: a backend may refuse requests that are much older.
pub const MAX_COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an acquire goes on while the backend answers with errors, unless the manager says otherwise.
pub const DEFAULT_OUTAGE_LIMIT: Duration = Duration::from_secs(10);

/// What one acquisition was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LockOptions {
    pub(crate) ttl: Duration,
    /// `None` waits for ever.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_hold: Option<Duration>,
    pub(crate) renewal: bool,
}

impl Default for LockOptions {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            wait: None,
            max_hold: None,
            renewal: true,
        }
    }
}

impl LockOptions {
    /// The backend can keep TTLs from `least` to `most`.
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
        match self.max_hold {
            Some(max_hold) => at_least_a_millisecond("max_hold", max_hold),
            None => Ok(()),
        }
    }
}

/// How many permits can be asked for.
pub(crate) const fn validate_permits(asked: u32, of: u32) -> Result<(), InvalidOption> {
    if of > MAX_PERMITS {
        return Err(InvalidOption::TooManyPermits { of });
    }
    if asked == 0 || asked > of {
        return Err(InvalidOption::Permits { asked, of });
    }
    Ok(())
}

/// The bounds that a manager puts on its backend.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) command: Duration,
    pub(crate) outage: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command: DEFAULT_COMMAND_TIMEOUT,
            outage: DEFAULT_OUTAGE_LIMIT,
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

fn at_least_a_millisecond(option: &'static str, value: Duration) -> Result<(), InvalidOption> {
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

/// An option of a lock or a manager that cannot work.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidOption {
    /// Shorter than can be kept.
    #[error("{option} is {value:?}, which is too short; give at least {least:?}")]
    TooShort {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: Duration,
        /// The least that works.
        least: Duration,
    },
    /// Longer than is allowed.
    #[error("{option} is {value:?}, which is too long; give at most {most:?}")]
    TooLong {
        /// The option's name.
        option: &'static str,
        /// What was given.
        value: Duration,
        /// The most that works.
        most: Duration,
    },
    /// No permit, or more permits than there are.
    #[error("permits is {asked}, of {of}; ask for at least one, and for no more than there are")]
    Permits {
        /// What was asked for.
        asked: u32,
        /// How many there are.
        of: u32,
    },
    /// No key to lock.
    #[error("there are no keys to lock; give at least one, or do not lock")]
    NoKeys,
    /// Too many keys to lock as one.
    #[error("{count} keys are too many to lock as one; give at most {MAX_KEYS}")]
    TooManyKeys {
        /// How many were given, each counted once.
        count: usize,
    },
    /// A semaphore too large to be looked after.
    #[error("a semaphore of {of} permits is too large; give at most {MAX_PERMITS}")]
    TooManyPermits {
        /// What was given.
        of: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bound_is_refused_by_name_and_with_the_remedy() {
        let least = Duration::from_millis(10);
        let with = |change: fn(&mut LockOptions)| {
            let mut options = LockOptions::default();
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
    }
}
