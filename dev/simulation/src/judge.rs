//! What must not be.

use std::time::Duration;

use crate::clock::micros;
use crate::faults::Plan;
use crate::history::{History, Hold, Mode};
use crate::operation::LONGEST_TTL;
use crate::order::out_of_order;
use crate::server::{Keyspace, SimulatedRedis};

/// How long before its answer a request may have been carried out.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// Whoever holds nothing that it renews holds nothing after this.
const LEASES_END: Duration = Duration::from_secs(LONGEST_TTL.as_secs() + 1);

/// What belongs to waiters and to attempts that were given up lasts no longer, after the last of them.
const COMPANIONS_END: Duration = Duration::from_secs(140);

/// The counters last no longer after the last grant.
const COUNTERS_END: Duration = Duration::from_secs(60 * 60 * 24 * 3);

/// All that must not be, each in a sentence.
pub(crate) fn judge(
    history: &History,
    redis: &SimulatedRedis,
    plan: &Plan,
    unfinished: &[usize],
) -> Vec<String> {
    let mut found = Vec::new();
    let holds = &history.holds;
    for (place, first) in holds.iter().enumerate() {
        for second in holds[place + 1..].iter().filter(|it| it.key == first.key) {
            let (first, second) = match first.from <= second.from {
                true => (first, second),
                false => (second, first),
            };
            found.extend(overlap(first, second, holds, &history.forgotten));
            found.extend(disorder(first, second));
        }
    }
    if plan.is_calm {
        found.extend(out_of_order(redis.served()));
    }
    for process in unfinished {
        found.push(format!(
            "liveness: process {process} has not come to its end"
        ));
    }
    found.extend(left_over(redis.data(), plan));
    found
}

fn overlap(first: &Hold, second: &Hold, holds: &[Hold], forgotten: &[Duration]) -> Option<String> {
    let were_both_valid = |a: &Hold, b: &Hold| a.until.is_none_or(|until| until > b.from);
    if !were_both_valid(first, second) || !excludes(first, second, holds) {
        return None;
    }
    let since = first.from.saturating_sub(UNDER_WAY);
    let is_excused = forgotten
        .iter()
        .any(|at| (since..=second.from).contains(at));
    (!is_excused).then(|| format!("exclusion: {first}, and {second}"))
}

fn excludes(first: &Hold, second: &Hold, holds: &[Hold]) -> bool {
    match (first.mode, second.mode) {
        (Mode::Shared, Mode::Shared) => false,
        (Mode::Permit { of }, Mode::Permit { .. }) => {
            let at = second.from;
            let valid = |it: &&Hold| {
                it.key == second.key && it.from <= at && it.until.is_none_or(|until| until > at)
            };
            holds.iter().filter(valid).count() > of
        }
        _ => true,
    }
}

/// The second was asked for when the first had been granted.
fn disorder(first: &Hold, second: &Hold) -> Option<String> {
    let (earlier, later) = (first.token?, second.token?);
    if second.asked < first.from {
        return (earlier == later && !share(first, second))
            .then(|| format!("tokens: the same for two: {first}, and {second}"));
    }
    let grows = later > earlier || (later == earlier && share(first, second));
    (!grows).then(|| format!("tokens: not greater: {first}, then {second}"))
}

fn share(first: &Hold, second: &Hold) -> bool {
    (first.mode, second.mode) == (Mode::Shared, Mode::Shared)
}

/// What the server still has when everybody has gone.
fn left_over(mut data: Keyspace, plan: &Plan) -> Vec<String> {
    let mut found = Vec::new();
    let end = data.clock();
    let mut check = |after: Duration, what: &str, may_be: fn(&str) -> bool| {
        data.set_clock(end + micros(after));
        let left = data.keys().filter(|key| !may_be(key));
        found.extend(left.map(|key| format!("nothing left: {key} {what}")));
    };
    let is_free = |key: &str| key.contains(":lh1:");
    if !plan.kills_processes {
        check(Duration::ZERO, "when all had shut down", |key| {
            // The shares of a lock that is over outlast it for a while, and count for nothing.
            [":fence", ":shares", ":lh1:sealed:"]
                .iter()
                .any(|it| key.contains(it))
        });
    }
    check(LEASES_END, "when all leases were over", is_free);
    check(COMPANIONS_END, "when all waiters were over", |key| {
        key.ends_with(":fence")
    });
    check(COUNTERS_END, "without end", |_| false);
    found
}
