//! Checks the outcomes that the server accepted, and the results of all calls of `once`.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::clock::{micros, micros_at};
use crate::history::History;
use crate::history::{Run, RunEnd};
use crate::server::{Reply, Served};

/// A waiter receives an outcome within this time, if the network has no faults.
const MOMENT: Duration = Duration::from_millis(700);

/// The number of keys and arguments of the script that records an outcome.
const RECORD: (usize, usize) = (7, 5);

/// A request that records an outcome.
struct Record<'a> {
    lock: &'a str,
    token: u64,
    keep_ms: u64,
    outcome: &'a str,
    is_confirmed: bool,
}

/// An outcome that the server accepted. The times are microseconds.
struct Accepted<'a> {
    token: u64,
    outcome: &'a str,
    at: u64,
    /// From this time on, the server no longer keeps the outcome.
    until: u64,
}

fn record(served: &Served) -> Option<Record<'_>> {
    if (served.keys.len(), served.arguments.len()) != RECORD {
        return None;
    }
    let [lock, .., kept, _tombstone] = served.keys.as_slice() else {
        return None;
    };
    kept.ends_with(":outcome").then_some(())?;
    Some(Record {
        lock,
        token: served.arguments[1].parse().ok()?,
        keep_ms: served.arguments[3].parse().ok()?,
        outcome: &served.arguments[4],
        is_confirmed: served.reply == Reply::Int(1),
    })
}

/// Returns the number of confirmed records, and of refused ones.
pub(crate) fn records(served: &[Served]) -> (u64, u64) {
    let (confirmed, refused): (Vec<_>, Vec<_>) = served
        .iter()
        .filter_map(record)
        .partition(|it| it.is_confirmed);
    (confirmed.len() as u64, refused.len() as u64)
}

/// Returns all violations, each as a sentence.
pub(crate) fn wrong_outcomes(history: &History, served: &[Served], is_calm: bool) -> Vec<String> {
    let (mut found, mut all) = (Vec::new(), BTreeMap::<&str, Vec<Accepted<'_>>>::new());
    let losses: Vec<u64> = history.forgotten.iter().map(|at| micros_at(*at)).collect();
    for served in served {
        let Some(record) = record(served).filter(|it| it.is_confirmed) else {
            continue;
        };
        let Record {
            lock,
            token,
            outcome,
            ..
        } = record;
        let at = served.micros;
        // The server's keys expire after the last millisecond.
        let until = (at / 1000 + record.keep_ms + 1) * 1000;
        let lost = losses.iter().find(|lost| **lost >= at);
        let until = lost.map_or(until, |lost| until.min(*lost));
        let accepted = all.entry(lock).or_default();
        if let Some(last) = accepted.last() {
            let is_kept = at < last.until;
            if is_kept && last.token == token {
                continue;
            }
            if is_kept {
                found.push(format!(
                    "one outcome: {lock} got {outcome} at {at}, and kept {} until {}",
                    last.outcome, last.until
                ));
            }
            if token <= last.token {
                found.push(format!(
                    "outcomes: {lock} got {outcome} under {token} after {} under {}",
                    last.outcome, last.token
                ));
            }
        }
        accepted.push(Accepted {
            token,
            outcome,
            at,
            until,
        });
    }
    for (number, run) in history.runs.iter().enumerate() {
        let lock = format!("lock:{}", run.key);
        let accepted = all.get(lock.as_str()).map_or(&[][..], Vec::as_slice);
        found.extend(wrong_end(number as u64, run, accepted, is_calm));
    }
    found
}

/// Returns the violation of a call.
fn wrong_end(number: u64, run: &Run, accepted: &[Accepted<'_>], is_calm: bool) -> Option<String> {
    let called = micros_at(run.called);
    let kept_since_call = |it: &&Accepted<'_>| it.at < called;
    if let Some(began) = run.began.map(micros_at)
        && let Some(kept) = accepted
            .iter()
            .filter(kept_since_call)
            .find(|it| it.until > began)
    {
        return Some(format!(
            "one execution: {number} ran at {began}, and {} was kept from {} to {}",
            kept.outcome, kept.at, kept.until
        ));
    }
    let (returned, end) = run.end.as_ref()?;
    let (outcome, is_own) = match end {
        RunEnd::Value(value) => (format!("+{value}"), *value == number),
        RunEnd::Failed(message) => (format!("-{message}"), false),
        RunEnd::NotRecorded => {
            let outcome = format!("+{number}");
            let kept = accepted.iter().find(|it| it.outcome == outcome)?;
            return Some(format!(
                "outcomes: {number} was not recorded, and the server got it at {}",
                kept.at
            ));
        }
        RunEnd::Unknown => return None,
    };
    let returned = micros_at(*returned);
    let Some(kept) = accepted.iter().find(|it| it.outcome == outcome) else {
        return Some(format!(
            "outcomes: {number} returned {outcome}, which the server did not get"
        ));
    };
    if kept.at > returned || !is_own && kept.until <= called {
        return Some(format!(
            "outcomes: {number} lasted from {called} to {returned}, and {outcome} from {} to {}",
            kept.at, kept.until
        ));
    }
    let known = called.max(kept.at);
    (is_calm && returned > known + micros(MOMENT))
        .then(|| format!("promptness: {number} knew {outcome} at {returned}, and not at {known}"))
}
