//! Checks the history of a run.

use std::time::Duration;

use leasehold_testkit::history::{self as holds, Moment, Violation};

use crate::clock::micros;
use crate::faults::Plan;
use crate::grant_order::out_of_order;
use crate::history::{History, moment};
use crate::operation::LONGEST_TTL;
use crate::outcomes::wrong_outcomes;
use crate::server::{Keyspace, SimulatedRedis};

/// The maximum time between the execution of a request and its answer.
const UNDER_WAY: Duration = Duration::from_secs(5);

/// After this time, a process without renewals holds no lock.
const LEASES_END: Duration = Duration::from_secs(LONGEST_TTL.as_secs() + 1);

/// After this time, the data of waiters and given-up attempts has expired.
const COMPANIONS_END: Duration = Duration::from_secs(140);

/// After this time since the last grant, the counters have expired.
const COUNTERS_END: Duration = Duration::from_secs(60 * 60 * 24 * 3);

/// Returns all violations, each as a sentence.
pub(crate) fn judge(
    history: &History,
    redis: &SimulatedRedis,
    plan: &Plan,
    unfinished: &[usize],
) -> Vec<String> {
    let mut found = Vec::new();
    let holds = holds::History::of_holds(history.holds.clone());
    let violations = holds.violations().into_iter();
    let unexcused = violations.filter(|it| !is_excused(it, &history.forgotten));
    found.extend(unexcused.map(|it| it.to_string()));
    if plan.is_calm {
        found.extend(out_of_order(redis.served()));
    }
    found.extend(wrong_outcomes(history, redis.served(), plan.is_calm));
    for process in unfinished {
        found.push(format!(
            "liveness: process {process} has not come to its end"
        ));
    }
    found.extend(left_over(redis.data(), plan));
    found
}

/// Returns whether the violation is allowed, because a server that loses its locks grants them again.
fn is_excused(violation: &Violation, forgotten: &[Duration]) -> bool {
    let Violation::Overlap { first, second } = violation else {
        return false;
    };
    let since = moment(UNDER_WAY).0;
    let since = Moment(first.granted_at.0.saturating_sub(since));
    let mut forgotten = forgotten.iter().map(|at| moment(*at));
    forgotten.any(|at| (since..=second.granted_at).contains(&at))
}

/// Returns the data that the server still has after all processes have ended.
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
            // The shared holders of an ended lock stay for a while, and have no effect.
            [":fence", ":shares", ":outcome", ":lh1:sealed:"]
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
