//! The checks find planted violations, and no others.

use std::fs;

use leasehold_testkit::history::{
    Event, History, HistoryError, Mode, Moment, Noted, Recorder, Violation,
};

use crate::fake::Outcome;

/// Key, token, time of the request, time of the grant, end.
type Row = (&'static str, i64, u64, u64, u64);

fn history(rows: &[Row]) -> Result<History, HistoryError> {
    let mut events = Vec::new();
    for (hold, &(key, token, requested_at, at, until)) in (0..).zip(rows) {
        events.push(Event::Granted {
            hold,
            key: key.to_owned(),
            mode: Mode::Exclusive,
            token: (token != 0).then_some(token),
            requested_at: Moment(requested_at),
            at: Moment(at),
        });
        let at = Moment(until);
        events.push(Event::Ended { hold, at });
    }
    // Events may have any order.
    events.reverse();
    History::of_events(events)
}

/// The numbers of two holds.
type Pair = (u64, u64);

/// Returns the numbers of the held locks in each violation.
fn pairs(found: &[Violation]) -> Vec<Pair> {
    let numbers = found.iter().map(|violation| match violation {
        Violation::Overlap { first, second }
        | Violation::TokenNotGreater { first, second }
        | Violation::TokenTwice { first, second } => (first.number, second.number),
        _ => (0, 0),
    });
    let mut numbers: Vec<_> = numbers.collect();
    numbers.sort_unstable();
    numbers
}

const GOOD: [Row; 5] = [
    ("a", 1, 0, 10, 20),
    // Requested while the other lock was held, and granted when it ended.
    ("a", 2, 5, 20, 30),
    ("b", 1, 0, 15, 40),
    // Two concurrent requests, whose grants have another order than their tokens.
    ("c", 7, 0, 50, 60),
    ("c", 6, 0, 70, 80),
];

#[test]
fn valid_history_passes() -> Outcome {
    let history = history(&GOOD)?;
    assert_eq!(history.holds().len(), 5);
    history.check()?;
    Ok(())
}

#[test]
fn concurrent_holders_are_found() -> Outcome {
    let cases: [(&[Row], &[Pair]); 5] = [
        (&[("a", 1, 0, 10, 20), ("a", 2, 0, 19, 30)], &[(0, 1)]),
        (&[("a", 1, 0, 10, 90), ("a", 2, 0, 20, 30)], &[(0, 1)]),
        // The short one in between does not hide the long one.
        (
            &[
                ("a", 1, 0, 10, 90),
                ("a", 2, 0, 20, 30),
                ("a", 3, 0, 40, 50),
            ],
            &[(0, 1), (0, 2)],
        ),
        (&[("a", 0, 0, 10, 20), ("a", 2, 0, 15, 30)], &[(0, 1)]),
        // The grant was recorded after its end, so the lock was never considered valid.
        (&[("a", 1, 0, 10, 90), ("a", 2, 0, 20, 15)], &[]),
    ];
    for (rows, expected) in cases {
        assert_eq!(pairs(&history(rows)?.exclusion()), expected, "{rows:?}");
    }
    Ok(())
}

#[test]
fn tokens_that_do_not_increase_are_found() -> Outcome {
    let rows = [
        ("a", 5, 0, 10, 20),
        ("a", 4, 11, 30, 40),
        ("b", 3, 11, 30, 40),
        ("a", 6, 31, 50, 60),
        // The lock of a client without tokens.
        ("a", 0, 61, 70, 80),
        ("a", 5, 61, 90, 95),
    ];
    let history = history(&rows)?;
    assert_eq!(pairs(&history.tokens_strictly_increase()), [(0, 1), (3, 5)]);
    assert_eq!(pairs(&history.tokens_unique()), [(0, 5)]);
    let violations = history.check().expect_err("there are three").to_string();
    assert!(violations.starts_with("3 violations\n"), "{violations}");
    assert!(violations.contains("a: one token twice"), "{violations}");
    Ok(())
}

#[test]
fn hold_without_a_recorded_end_lasts_until_it_was_last_valid() -> Outcome {
    let recorder = Recorder::in_memory();
    let killed = recorder.granted("a", 1, Moment::now());
    let seen = Moment::now();
    killed.valid_at(seen);
    drop(killed);
    recorder.granted("a", 2, seen).ended();
    let history = recorder.history()?;
    history.check()?;
    assert_eq!(history.holds()[0].until, seen);
    assert!(!history.holds()[0].ended && history.holds()[1].ended);

    let late = recorder.granted("a", 3, seen);
    recorder.granted("a", 4, seen).ended();
    late.ended_at(Moment::now());
    assert_eq!(recorder.history()?.exclusion().len(), 1);
    Ok(())
}

#[test]
fn files_of_several_processes_are_merged_into_one_history() -> Outcome {
    let dir = tempfile::tempdir()?;
    let files = ["one", "two"].map(|name| dir.path().join(name));
    let recorders = [Recorder::to_file(&files[0])?, Recorder::to_file(&files[1])?];
    for token in 1..=100 {
        let recorder = &recorders[token % 2];
        let noted = recorder.granted("a \"b\"", token as i64, Moment::now());
        noted.valid_at(Moment::now());
        noted.ended();
    }
    let history = History::read(&files)?;
    assert_eq!(history.holds().len(), 100);
    history.check()?;
    assert_eq!(recorders[0].history()?.holds().len(), 50);

    // Simulates a kill in the middle of a line.
    let text = fs::read_to_string(&files[0])?;
    fs::write(&files[0], format!("{text}{{\"event\":\"gran"))?;
    assert_eq!(History::read(&files)?, history);
    fs::write(&files[0], format!("{text}Hello\n"))?;
    assert!(matches!(History::read(&files), Err(HistoryError::Line(_))));
    fs::write(&files[0], "{\"event\":\"ended\",\"hold\":1,\"at\":2}\n")?;
    let missing = History::read(&files[..1]);
    assert!(matches!(missing, Err(HistoryError::NeverGranted(1))));
    Ok(())
}

#[test]
fn readers_may_overlap_and_share_tokens_and_writers_may_not() -> Outcome {
    let recorder = Recorder::in_memory();
    let begin = Moment::now();
    let hold = |mode, token| recorder.granted_in(mode, "a", token, Moment::now());
    let readers = [hold(Mode::Shared, 1), hold(Mode::Shared, 1)];
    recorder.history()?.check()?;
    let writer = hold(Mode::Exclusive, 1);
    readers.into_iter().chain([writer]).for_each(Noted::ended);
    let history = recorder.history()?;
    assert_eq!(history.exclusion().len(), 2);
    assert_eq!(history.tokens_strictly_increase().len(), 1);
    assert_eq!(history.tokens_unique().len(), 1);
    let permits = |count| {
        let mode = Mode::Permits { count, of: 3 };
        recorder.granted_in(mode, "b", 1, begin)
    };
    let held = [permits(1), permits(2), permits(1)];
    held.into_iter().for_each(Noted::ended);
    assert_eq!(recorder.history()?.exclusion().len(), 4);
    Ok(())
}
