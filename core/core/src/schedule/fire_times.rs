//! The fire times of a cron expression in a time zone.
//!
//! If the clocks of the time zone change, the rules are those of Debian's cron. An expression with a `*` in its minute or
//! hour describes an interval: it fires at each moment whose local time matches. Any other expression describes times of
//! the day: it also fires once if the clocks skip or repeat such a time.

use chrono::{DateTime, LocalResult, NaiveDateTime, TimeDelta, TimeZone, Utc};
use croner::Cron;
use croner::errors::CronError;
use croner::parser::CronParser;

#[derive(Debug, Clone)]
pub(super) struct FireTimes<Z: TimeZone> {
    cron: Cron,
    zone: Z,
    is_interval: bool,
}

impl<Z: TimeZone> FireTimes<Z> {
    pub(super) fn parse(expression: &str, zone: Z) -> Result<Self, CronError> {
        Ok(Self {
            cron: CronParser::new().parse(expression)?,
            zone,
            is_interval: is_interval(expression),
        })
    }

    /// Returns the latest fire time at or before a time in whole seconds.
    pub(super) fn latest(&self, until: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let zoned = until.with_timezone(&self.zone);
        if self.is_interval {
            let found = self.cron.find_previous_occurrence(&zoned, true);
            return Some(found.ok()?.to_utc());
        }
        let local = zoned.naive_local();
        // In the second of two equal hours, all local times of the first one are over.
        let repeated = match self.zone.from_local_datetime(&local) {
            LocalResult::Ambiguous(first, _) => until - first.to_utc(),
            _ => TimeDelta::zero(),
        };
        let mut local = (local + repeated).and_utc();
        loop {
            local = self.cron.find_previous_occurrence(&local, true).ok()?;
            let time = self.first_moment_of(local.naive_utc())?;
            if time <= until {
                return Some(time);
            }
            local -= TimeDelta::seconds(1);
        }
    }

    /// Returns the earliest fire time after a time in whole seconds.
    pub(super) fn next(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let zoned = after.with_timezone(&self.zone);
        if self.is_interval {
            let found = self.cron.find_next_occurrence(&zoned, false);
            return Some(found.ok()?.to_utc());
        }
        let mut local = zoned.naive_local().and_utc();
        loop {
            local = self.cron.find_next_occurrence(&local, false).ok()?;
            let time = self.first_moment_of(local.naive_utc())?;
            if time > after {
                return Some(time);
            }
        }
    }

    /// Returns the first moment with this local time. If the clocks skip the local time, returns the moment at which they
    /// do.
    fn first_moment_of(&self, local: NaiveDateTime) -> Option<DateTime<Utc>> {
        // No time zone skips more than a day.
        let (mut skipped, mut beyond) = (0, 2 * 86_400);
        let moment = |seconds| {
            let local = local.checked_add_signed(TimeDelta::seconds(seconds))?;
            self.zone.from_local_datetime(&local).earliest()
        };
        if let Some(time) = moment(0) {
            return Some(time.to_utc());
        }
        while beyond - skipped > 1 {
            let middle = i64::midpoint(skipped, beyond);
            match moment(middle) {
                Some(_) => beyond = middle,
                None => skipped = middle,
            }
        }
        Some(moment(beyond)?.to_utc())
    }
}

/// Returns whether the minute or the hour of an expression contains a `*`.
fn is_interval(expression: &str) -> bool {
    let fields: Vec<&str> = expression.split_whitespace().collect();
    let minute = usize::from(fields.len() > 5);
    match fields.as_slice() {
        [nickname] => nickname.eq_ignore_ascii_case("@hourly"),
        fields => fields
            .iter()
            .skip(minute)
            .take(2)
            .any(|it| it.contains(['*', '?'])),
    }
}
