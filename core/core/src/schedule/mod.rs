//! Cron schedules, and the fire time that a call belongs to.

mod fire_times;

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, TimeDelta, TimeZone, Utc};

use self::fire_times::FireTimes;
use crate::clock;
use crate::escaped_text::Shown;

/// The longest time by which a timer may fire early.
const MOST_EARLY: Duration = Duration::from_secs(1);

/// The end of the year 4999, the last year that cron expressions support.
const LATEST: Duration = Duration::from_secs(95_617_583_999);

/// A cron schedule. It names the fire time that a call belongs to.
///
/// Use the [slot](Self::slot) in a key, so that every process computes the same key for the same fire time.
///
/// # Expressions
///
/// An expression has the fields minute, hour, day of month, month and day of week. `0 3 * * *` fires every day at 03:00.
/// A sixth field at the beginning is the second, and a seventh field at the end is the year. The crate `croner`
/// parses expressions, and its documentation describes all of them: names (`MON-FRI`, `JAN`), steps (`*/5`), the last
/// day (`L`), the nearest weekday (`15W`), the second Friday (`FRI#2`), and `@daily`. If an expression restricts both the
/// day of month and the day of week, one matching day is enough.
///
/// # The slot
///
/// A call belongs to the latest fire time at or before the time of the call plus the *tolerance*. The tolerance is one
/// second, or half of the interval between the surrounding fire times if that is less. The effects:
///
/// - A timer may fire early by up to the tolerance. It may fire late by any time that is shorter than the interval minus
///   the next tolerance. Both are measured by the clock of the process.
/// - If the fire times are at least one second apart, processes whose clocks are wrong by less than 500 ms compute the
///   same slot for calls that start at the same true time, the fire time.
/// - A call between two fire times belongs to the earlier one, even if no process ran at that time. For example, a
///   daily job that is deployed at noon runs at its first call.
/// - Before the first fire time after 1970, the slot is the first fire time.
///
/// # Time zones
///
/// [`Schedule::cron`] uses UTC. [`Schedule::cron_in`] uses a time zone of `chrono`, such as those of `chrono-tz`. The
/// text of a slot is always in UTC. If the clocks of the time zone change, the rules are those of Debian's cron:
///
/// - An expression with a `*` in its minute or hour, such as `*/10 * * * *`, describes an interval. It does not fire in
///   an hour that the clocks skip, and fires in both hours if they repeat one.
/// - Any other expression, such as `30 2,14 * * *`, describes times of the day. If the clocks skip such a time, it fires
///   at the end of the skipped hour, once for all times in this hour. If they repeat an hour, it fires in the first one.
///
/// # Examples
///
/// ```
/// use std::time::{Duration, SystemTime};
/// use leasehold::Schedule;
///
/// # fn main() -> Result<(), leasehold::Error> {
/// let nightly = Schedule::cron("0 3 * * *")?;
/// let key = format!("nightly:{}", nightly.slot()); // "nightly:2026-11-25T03:00:00Z"
/// # assert!(key.starts_with("nightly:2") && key.ends_with("T03:00:00Z"), "{key}");
///
/// // 02:59:59.5 and 03:20 on the 2nd of January 1970 belong to the same fire time.
/// let three = SystemTime::UNIX_EPOCH + Duration::from_secs(27 * 3600);
/// let early = nightly.slot_at(three - Duration::from_millis(500));
/// let late = nightly.slot_at(three + Duration::from_secs(20 * 60));
/// assert_eq!(early, late);
/// assert_eq!(early.to_string(), "1970-01-02T03:00:00Z");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Schedule<Z: TimeZone = Utc> {
    times: FireTimes<Z>,
    first: DateTime<Utc>,
}

impl Schedule {
    /// Parses a cron expression in UTC.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidSchedule`] if the expression is not a cron expression, or never fires.
    pub fn cron(expression: &str) -> Result<Self, InvalidSchedule> {
        Self::cron_in(expression, Utc)
    }
}

impl<Z: TimeZone> Schedule<Z> {
    /// Parses a cron expression in a time zone.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidSchedule`] if the expression is not a cron expression, or never fires.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::{Duration, SystemTime};
    /// use leasehold::Schedule;
    ///
    /// # fn main() -> Result<(), leasehold::Error> {
    /// let nightly = Schedule::cron_in("0 3 * * *", chrono_tz::Europe::Berlin)?;
    /// let noon = SystemTime::UNIX_EPOCH + Duration::from_secs(12 * 3600);
    /// assert_eq!(nightly.slot_at(noon).to_string(), "1970-01-01T02:00:00Z");
    /// # Ok(())
    /// # }
    /// ```
    pub fn cron_in(expression: &str, zone: Z) -> Result<Self, InvalidSchedule> {
        let refused = |problem: String| InvalidSchedule {
            expression: expression.chars().take(64).collect(),
            problem: problem.trim_end_matches('.').to_owned(),
        };
        let times =
            FireTimes::parse(expression, zone).map_err(|error| refused(error.to_string()))?;
        let first = times
            .next(DateTime::UNIX_EPOCH - TimeDelta::seconds(1))
            .ok_or_else(|| refused("it never fires after 1970".to_owned()))?;
        Ok(Self { times, first })
    }

    /// Returns the slot of a call now, by the clock of this process: see [`Schedule`](Self#the-slot).
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.slot_at(clock::wall_time())
    }

    /// Returns the slot of a call at `time`. A time before 1970 counts as the beginning of 1970, and a time after the
    /// year 4999 counts as its end.
    #[must_use]
    pub fn slot_at(&self, time: SystemTime) -> Slot {
        let since_1970 = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let since_1970 = since_1970.min(LATEST);
        let second = since_1970.as_secs().cast_signed();
        let now = DateTime::from_timestamp(second, 0).unwrap_or_default();
        let last = self.times.latest(now);
        let last = last.map_or(self.first, |last| last.max(self.first));
        let Some(next) = self.times.next(now) else {
            return Slot(last);
        };
        let interval = (next - last).to_std().unwrap_or_default();
        let left = Slot(next).since_1970().saturating_sub(since_1970);
        match left <= MOST_EARLY.min(interval / 2) {
            true => Slot(next),
            false => Slot(last),
        }
    }
}

/// A fire time of a [`Schedule`].
///
/// `Display` writes it for use in a key: `2026-11-25T03:00:00Z`.
///
/// # Examples
///
/// ```
/// # fn main() -> Result<(), leasehold::Error> {
/// let slot = leasehold::Schedule::cron("0 3 * * *")?.slot();
/// assert!(slot.fire_time() <= std::time::SystemTime::now() + std::time::Duration::from_secs(1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(DateTime<Utc>);

impl Slot {
    /// Returns the fire time.
    #[must_use]
    pub fn fire_time(self) -> SystemTime {
        UNIX_EPOCH + self.since_1970()
    }

    fn since_1970(self) -> Duration {
        let since_1970 = self.0 - DateTime::UNIX_EPOCH;
        since_1970.to_std().unwrap_or_default()
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The `Debug` of a UTC time is its ISO 8601 form, and needs no further feature of `chrono`.
        write!(f, "{:?}", self.0)
    }
}

/// The text is not a cron expression, or never fires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a valid cron expression: {problem}; write minute, hour, day of month, month and day of week, as in `0 3 * * *`",
    Shown(expression)
)]
pub struct InvalidSchedule {
    expression: String,
    problem: String,
}

impl InvalidSchedule {
    /// Returns the refused expression, shortened if it is long.
    #[must_use]
    pub fn expression(&self) -> &str {
        &self.expression
    }
}
