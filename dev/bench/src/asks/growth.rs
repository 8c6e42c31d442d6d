//! The requirements for the cost of an operation at several sizes: the CPU time of client and server, and the commands.

use super::names::OURS;
use crate::answer::{Answer, Bound, answer};
use crate::ledger::Ledger;
use crate::workload::growth::{HELD, KEYS, MANAGERS, MASTERS, Scale, Size, WAITERS};
use crate::workload::uncontended;

const RECORD: &str = "SET and token by hand";

/// The largest growth of a cost that does not depend on the size.
const FLAT: Bound = Bound::AtMost(1.1);

pub(super) fn asks(ledger: &Ledger) -> Vec<Answer> {
    let cost = |workload: &String| ledger.cost(workload, OURS);
    let tasks: Vec<_> = uncontended::TASKS
        .iter()
        .copied()
        .map(uncontended::name)
        .collect();
    let us = |scale, contestant| {
        largest(scale, |size| {
            growth(ledger, scale, contestant, size, Size::us)
        })
    };
    let commands = |scale, contestant| {
        largest(scale, |size| {
            growth(ledger, scale, contestant, size, Size::commands)
        })
    };
    let by_a_record = |size: &Size| {
        let ours = growth(ledger, KEYS, OURS, size, Size::us)?;
        Some(ours / growth(ledger, KEYS, RECORD, size, Size::us)?)
    };
    let flat = |what: &str, got| answer(format!("7. growth: {what}"), FLAT, " ×", got);
    vec![
        flat(
            "dearest operation of 4 to 1 000 tasks by that of 1",
            worst(&tasks, cost),
        ),
        flat(
            "dearest operation of 10⁴ to 10⁶ keys by that of 10³",
            us(KEYS, OURS),
        ),
        flat(
            "the same, by how a SET and a token by hand grow",
            largest(KEYS, by_a_record),
        ),
        flat(
            "CPU of a pair with 10 to 10⁴ held locks by that with 1",
            us(HELD, OURS),
        ),
        flat("the same, commands of a pair", commands(HELD, OURS)),
        flat(
            "CPU of a hand-off with 10 to 1 000 waiters by that with 1",
            us(WAITERS, OURS),
        ),
        flat("the same, commands of a hand-off", commands(WAITERS, OURS)),
        flat(
            "CPU of a hand-off with waiters of 50 managers, the same",
            us(WAITERS, MANAGERS),
        ),
        flat(
            "the same, commands of a hand-off",
            commands(WAITERS, MANAGERS),
        ),
        flat(
            "CPU of a pair on 2 to 6 Cluster masters by that on 1",
            us(MASTERS, OURS),
        ),
        flat("the same, commands of a pair", commands(MASTERS, OURS)),
    ]
}

/// Returns a cost at this size, divided by the cost at the smallest size.
fn growth(
    ledger: &Ledger,
    scale: Scale,
    contestant: &str,
    size: &Size,
    metric: fn(&Size) -> &'static str,
) -> Option<f64> {
    let pair = (metric(size), metric(&scale.sizes[0]));
    ledger.growth(scale.workload, contestant, pair)
}

/// Returns the largest growth of all sizes but the smallest.
fn largest(scale: Scale, growth: impl Fn(&Size) -> Option<f64>) -> Option<f64> {
    let larger = scale.sizes[1..].iter();
    larger.filter_map(growth).reduce(f64::max)
}

/// Returns the largest figure of the others, divided by the first figure.
fn worst(names: &[String], figure: impl Fn(&String) -> Option<f64>) -> Option<f64> {
    let (first, others) = names.split_first()?;
    let largest = others.iter().filter_map(&figure).reduce(f64::max);
    Some(largest? / figure(first)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_largest_value_divided_by_the_first() {
        let names = ["2", "3", "6", "4"].map(str::to_owned);
        assert_eq!(worst(&names, |it| it.parse().ok()), Some(3.0));
        assert_eq!(worst(&names[..1], |it| it.parse().ok()), None);
    }

    #[test]
    fn largest_growth_ignores_the_smallest_size_and_unknown_figures() {
        let growth = |size: &Size| match size.count {
            1 => Some(9.0),
            1_000 => Some(1.5),
            10_000 => Some(1.2),
            _ => None,
        };
        assert_eq!(largest(HELD, growth), Some(1.5));
        assert_eq!(largest(HELD, |_| None), None);
    }
}
