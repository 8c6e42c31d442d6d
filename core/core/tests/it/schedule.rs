//! The slot of a schedule: its definition, time zones, and invalid expressions.
#![cfg(feature = "cron")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono_tz::Africa::Cairo;
use chrono_tz::Europe::{Berlin, London};
use chrono_tz::Tz;
use leasehold::{Schedule, Slot};
use proptest::prelude::*;

const DAY: u64 = 86_400;
/// 2026-11-25T00:00:00Z.
const TODAY: u64 = 1_795_564_800;

/// Expressions whose fire times are the multiples of a number of seconds since 1970.
const PERIODIC: [(&str, u64); 8] = [
    ("* * * * * *", 1),
    ("*/2 * * * * *", 2),
    ("*/15 * * * * *", 15),
    ("* * * * *", 60),
    ("*/10 * * * *", 600),
    ("@hourly", 3_600),
    ("0 */6 * * *", 6 * 3_600),
    ("0 0 * * *", DAY),
];

/// Expressions with intervals of different lengths.
const IRREGULAR: [&str; 8] = [
    "0 3 * * *",
    "30 2 * * *",
    "0,30 2,14 * * *",
    "0,7,59 * * * * *",
    "*/20 1-3 * * *",
    "0 9 * * MON-FRI",
    "0 0 L * *",
    "0 12 29 2 *",
];

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn slot(expression: &str, time: SystemTime) -> Slot {
    Schedule::cron(expression).unwrap().slot_at(time)
}

proptest! {
    #[test]
    fn a_call_belongs_to_the_latest_fire_time_up_to_the_call_plus_tolerance(
        (expression, period) in prop::sample::select(PERIODIC.to_vec()),
        number in TODAY / DAY * DAY..TODAY + 1_000 * DAY,
        offset in 0..=DAY * 1_000,
    ) {
        let fires = number / period * period * 1_000;
        let period = period * 1_000;
        let tolerance = 1_000.min(period / 2);
        let offset = offset % period;
        let expected = at(fires);
        prop_assert_eq!(slot(expression, at(fires - tolerance + offset)).fire_time(), expected);
        prop_assert_eq!(slot(expression, at(fires - tolerance)).fire_time(), expected);
        let before = at(fires - tolerance) - Duration::from_nanos(1);
        prop_assert_eq!(slot(expression, before).fire_time(), at(fires - period));
    }

    #[test]
    fn processes_whose_clocks_are_wrong_by_less_than_500_ms_name_the_same_slot(
        (expression, period) in prop::sample::select(PERIODIC.to_vec()),
        number in TODAY..TODAY + 1_000 * DAY,
        skews in prop::collection::vec(-499_999_999_i64..=499_999_999, 3),
    ) {
        let fires = at(number / period * period * 1_000);
        for skew in skews {
            let skewed = match skew < 0 {
                true => fires - Duration::from_nanos(skew.unsigned_abs()),
                false => fires + Duration::from_nanos(skew.unsigned_abs()),
            };
            prop_assert_eq!(slot(expression, skewed).fire_time(), fires);
        }
    }

    #[test]
    fn slots_are_in_order_and_a_fire_time_belongs_to_itself(
        expression in prop::sample::select(IRREGULAR.to_vec()),
        // A week around each change of the clocks in Berlin, and every other time.
        begin in prop_oneof![
            1_774_300_000_000_u64..1_774_900_000_000,
            1_792_500_000_000_u64..1_793_200_000_000,
            0_u64..95_617_000_000_000,
        ],
        later in 0_u64..4 * DAY * 1_000,
    ) {
        let check = |slots: [Slot; 2], own: [Slot; 2]| {
            assert!(slots[0] <= slots[1]);
            assert_eq!(own, slots);
        };
        let times = [at(begin), at(begin + later)];
        let utc = Schedule::cron(expression).unwrap();
        let slots = times.map(|time| utc.slot_at(time));
        check(slots, slots.map(|slot| utc.slot_at(slot.fire_time())));
        let local = Schedule::cron_in(expression, Berlin).unwrap();
        let slots = times.map(|time| local.slot_at(time));
        check(slots, slots.map(|slot| local.slot_at(slot.fire_time())));
    }

    #[test]
    fn random_expressions_and_times_do_not_cause_a_panic(
        text in prop_oneof![
            "[0-9*/,?LW# -]{0,24}",
            "([0-9]{1,3}|[*]/[0-9]{1,3}|[A-Z]{3}|[0-9]W|L)( ([0-9]{1,3}|[*]|[A-Z]{3}#[0-9]|[0-9]-[0-9]|L)){4,6}",
            "@[a-z]{0,8}",
            "\\PC{0,20}",
        ],
        seconds in any::<i64>(),
    ) {
        let time = match seconds < 0 {
            true => UNIX_EPOCH.checked_sub(Duration::from_secs(seconds.unsigned_abs())),
            false => UNIX_EPOCH.checked_add(Duration::from_secs(seconds.unsigned_abs())),
        };
        if let (Ok(schedule), Some(time)) = (Schedule::cron(&text), time) {
            prop_assert!(!schedule.slot_at(time).to_string().is_empty());
        }
    }
}

#[test]
fn early_and_late_timers_of_a_nightly_job_name_the_same_slot() {
    let three = (TODAY + 3 * 3_600) * 1_000;
    for (offset, expected) in [
        (-1_001, "2026-11-24T03:00:00Z"),
        (-1_000, "2026-11-25T03:00:00Z"),
        (0, "2026-11-25T03:00:00Z"),
        (20 * 3_600_000, "2026-11-25T03:00:00Z"),
        (24 * 3_600_000 - 1_000, "2026-11-26T03:00:00Z"),
    ] {
        let time = at(three.checked_add_signed(offset).unwrap());
        assert_eq!(slot("0 3 * * *", time).to_string(), expected, "{offset}");
    }
}

#[test]
fn the_clock_of_the_process_is_used_without_an_explicit_time() {
    let minutely = Schedule::cron("* * * * *").unwrap();
    let (before, slot, after) = (
        minutely.slot_at(SystemTime::now()),
        minutely.slot(),
        minutely.slot_at(SystemTime::now()),
    );
    assert!(before <= slot && slot <= after, "{before} {slot} {after}");
}

#[test]
fn the_ends_of_the_supported_time_have_a_slot() {
    let future = Schedule::cron("0 0 3 1 1 * 2099").unwrap();
    assert_eq!(future.slot_at(at(0)).to_string(), "2099-01-01T03:00:00Z");
    assert_eq!(slot("0 3 * * *", at(0)).to_string(), "1970-01-01T03:00:00Z");
    let before_1970 = UNIX_EPOCH - Duration::from_secs(DAY * 400);
    assert_eq!(slot("0 3 * * *", before_1970), slot("0 3 * * *", at(0)));
    let over = UNIX_EPOCH + Duration::from_secs(DAY * 365 * 9_000);
    assert_eq!(slot("0 3 * * *", over).to_string(), "4999-12-31T03:00:00Z");
}

/// Returns the slots of every minute of these hours, without repetitions.
fn slots_in_berlin(expression: &str, begin: u64, hours: u64) -> Vec<String> {
    slots_in(Berlin, expression, begin, hours)
}

fn slots_in(zone: Tz, expression: &str, begin: u64, hours: u64) -> Vec<String> {
    let schedule = Schedule::cron_in(expression, zone).unwrap();
    let minutes = (0..hours * 60).map(|minute| at((begin + minute * 60) * 1_000));
    let mut slots: Vec<_> = minutes.map(|it| schedule.slot_at(it).to_string()).collect();
    slots.dedup();
    slots
}

#[test]
fn a_fixed_time_in_the_skipped_hour_fires_at_its_end() {
    // 2026-03-28T12:00:00Z. On the 29th, 02:00 in Berlin (01:00 UTC) becomes 03:00.
    let slots = slots_in_berlin("30 2 * * *", 1_774_699_200, 48);
    let expected = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:30:00Z",
    ];
    assert_eq!(slots, expected);
}

#[test]
fn a_fixed_time_in_the_repeated_hour_fires_once_and_an_interval_fires_in_both_hours() {
    // 2026-10-24T12:00:00Z. On the 25th, 03:00 in Berlin (01:00 UTC) becomes 02:00.
    let slots = slots_in_berlin("30 2 * * *", 1_792_843_200, 48);
    let expected = [
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:30:00Z",
    ];
    assert_eq!(slots, expected);
    // From 2026-10-25T00:00:00Z.
    let slots = slots_in_berlin("*/30 * * * *", 1_792_886_400, 2);
    let expected = [
        "2026-10-25T00:00:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-25T01:00:00Z",
        "2026-10-25T01:30:00Z",
    ];
    assert_eq!(slots, expected);
}

#[test]
fn several_times_of_the_day_in_the_skipped_hour_fire_once_at_its_end() {
    // 2026-03-28T12:00:00Z. On the 29th, 02:00 in Berlin and 01:00 in London (01:00 UTC) become an hour later.
    let before = 1_774_699_200;
    let expected = [
        "2026-03-28T01:30:00Z",
        "2026-03-28T13:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T12:30:00Z",
        "2026-03-30T00:30:00Z",
    ];
    assert_eq!(slots_in_berlin("30 2,14 * * *", before, 40), expected);
    let expected = [
        "2026-03-28T01:30:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-30T00:00:00Z",
        "2026-03-30T00:30:00Z",
    ];
    assert_eq!(slots_in_berlin("0,30 2 * * *", before, 40), expected);
    let expected = [
        "2026-03-28T01:00:00Z",
        "2026-03-28T13:00:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T12:00:00Z",
        "2026-03-30T00:00:00Z",
    ];
    assert_eq!(slots_in(London, "0 1,13 * * *", before, 40), expected);
    // 2026-04-23T00:00:00Z. On the 24th, 00:00 in Cairo (22:00 UTC on the 23rd) becomes 01:00.
    let expected = [
        "2026-04-22T22:00:00Z",
        "2026-04-23T10:00:00Z",
        "2026-04-23T22:00:00Z",
        "2026-04-24T09:00:00Z",
    ];
    assert_eq!(slots_in(Cairo, "0 0,12 * * *", 1_776_902_400, 36), expected);
}

#[test]
fn several_times_of_the_day_in_the_repeated_hour_fire_in_the_first_one() {
    // 2026-10-24T12:00:00Z. On the 25th, 03:00 in Berlin (01:00 UTC) becomes 02:00.
    let expected = [
        "2026-10-24T00:30:00Z",
        "2026-10-25T00:00:00Z",
        "2026-10-25T00:30:00Z",
        "2026-10-26T01:00:00Z",
        "2026-10-26T01:30:00Z",
    ];
    assert_eq!(slots_in_berlin("0,30 2 * * *", 1_792_843_200, 40), expected);
}

#[test]
fn an_interval_does_not_fire_in_the_skipped_hour() {
    // 2026-03-29T00:00:00Z.
    let expected = [
        "2026-03-29T00:00:00Z",
        "2026-03-29T00:40:00Z",
        "2026-03-29T01:00:00Z",
        "2026-03-29T01:40:00Z",
    ];
    assert_eq!(slots_in_berlin("*/40 * * * *", 1_774_742_400, 2), expected);
    let expected = ["2026-03-28T01:30:00Z", "2026-03-30T00:00:00Z"];
    assert_eq!(
        slots_in_berlin("*/30 2 * * *", 1_774_742_400, 25)[..2],
        expected
    );
}

#[test]
fn an_invalid_expression_is_named_with_the_remedy() {
    for expression in [
        "",
        "nightly",
        "0 3 * *",
        "60 * * * *",
        "0 24 * * *",
        "@never",
        "0 0 30 2 *",
        "0 0 3 1 1 * 1969",
    ] {
        let error = Schedule::cron(expression).unwrap_err();
        assert_eq!(error.expression(), expression);
        let text = leasehold::Error::from(error).to_string();
        assert!(
            text.starts_with(&format!("`{expression}` is not a valid cron expression: ")),
            "{text}"
        );
        assert!(
            text.ends_with(
                "write minute, hour, day of month, month and day of week, as in `0 3 * * *`"
            ),
            "{text}"
        );
    }
    let never = Schedule::cron("0 0 30 2 *").unwrap_err().to_string();
    assert!(never.contains("it never fires after 1970"), "{never}");
    let long = Schedule::cron(&"9\n".repeat(1_000))
        .unwrap_err()
        .to_string();
    assert!(long.len() < 400 && !long.contains('\n'), "{long}");
}
