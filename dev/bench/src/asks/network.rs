//! The requirements for round trips in a network with a delay.

use super::names::{BARE, OURS};
use crate::answer::{Answer, Bound, answer};
use crate::ledger::{Ledger, Place};
use crate::workload::network::{self, BETWEEN, Contention, INSIDE, PAIR};

const PING: &str = "PING by hand";

/// The delays with requirements, in microseconds. With a shorter delay, the time of the machine counts as much as that
/// of the network.
const DELAYS: [u64; 2] = [500, 2_000];

pub(super) fn asks(ledger: &Ledger) -> Vec<Answer> {
    let mut answers = Vec::new();
    for delay in DELAYS {
        answers.extend(round_trips(ledger, delay));
    }
    let workload = network::name(500);
    let place = Place {
        workload: &workload,
        metric: PAIR,
    };
    answers.push(answer(
        "10. network, 0.5 ms each way: p50 of a pair by bare SET NX PX",
        Bound::AtMost(1.02),
        " ×",
        ledger.ratio(place, OURS, BARE),
    ));
    answers
}

fn round_trips(ledger: &Ledger, delay: u64) -> [Answer; 3] {
    let workload = network::name(delay);
    let ratio = |metric| {
        let place = Place {
            workload: &workload,
            metric,
        };
        ledger.ratio(place, OURS, PING)
    };
    let of = |Contention { time, .. }| ratio(time);
    [
        answer(
            format!("10. {workload}: round trips of an acquire or a release"),
            Bound::AtMost(1.1),
            "",
            ratio(PAIR).map(|both| both / 2.0),
        ),
        // A process cannot grant in less than a round trip, so this one is asked with one decimal.
        answer(
            format!("10. {workload}: round trips of a grant in a process, rounded"),
            Bound::AtMost(1.0),
            "",
            of(INSIDE).map(with_one_decimal),
        ),
        answer(
            format!("10. {workload}: round trips of a grant between processes"),
            Bound::AtMost(1.5),
            "",
            of(BETWEEN),
        ),
    ]
}

fn with_one_decimal(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Outcome, Row};

    fn row(contestant: &'static str, metric: &'static str, value: f64) -> Row {
        Row::single(contestant, metric, value)
    }

    #[test]
    fn round_trips_are_durations_divided_by_the_duration_of_a_ping() {
        let mut ledger = Ledger::default();
        let rows = vec![
            row(PING, PAIR, 1_000.0),
            row(PING, INSIDE.time, 1_000.0),
            row(PING, BETWEEN.time, 1_000.0),
            row(OURS, PAIR, 2_100.0),
            row(OURS, INSIDE.time, 1_049.0),
            row(OURS, BETWEEN.time, 1_510.0),
        ];
        ledger.add(&network::name(500), Outcome { rows, void: (0, 6) });
        let answers = round_trips(&ledger, 500);
        assert_eq!(
            answers.each_ref().map(|it| it.got),
            [Some(1.05), Some(1.0), Some(1.51)]
        );
        let met = answers.each_ref().map(|it| it.met);
        assert_eq!(met, [Some(true), Some(true), Some(false)]);
    }
}
