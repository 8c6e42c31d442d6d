use leasehold_charts::{LineChart, NotANumber, Tone};

use crate::contestant::Way;
use crate::ledger::Ledger;
use crate::workload::{growth, uncontended};

type Chart = Result<Option<String>, NotANumber>;

pub(super) fn tasks(ledger: &Ledger) -> Chart {
    let steps = uncontended::TASKS;
    let chart = LineChart::new(
        "What a lock costs, by the number of tasks",
        "an acquire and a release, a key for each task; µs of all cores, client and server; less is better",
    );
    lines(ledger, chart, steps, uncontended::name)
}

pub(super) fn keys(ledger: &Ledger) -> Chart {
    let chart = LineChart::new(
        "What a lock costs, by the number of keys",
        "an acquire and a release of 16 tasks; µs of all cores, client and server; less is better",
    );
    lines(ledger, chart, growth::SIZES, growth::name)
}

fn lines(
    ledger: &Ledger,
    mut chart: LineChart,
    steps: &[usize],
    name: impl Fn(usize) -> String,
) -> Chart {
    let mut is_empty = true;
    for (way, tone) in [
        (Way::Leasehold, Tone::Accent),
        (Way::Scripts, Tone::Soft),
        (Way::Drawing, Tone::Soft),
        (Way::Bare, Tone::Quiet),
    ] {
        let points = steps.iter().filter_map(|&step| {
            let cost = ledger.cost(&name(step), way.name())?;
            Some((step as f64, cost))
        });
        let points: Vec<_> = points.collect();
        if points.len() > 1 {
            is_empty = false;
            chart = chart.line(way.name(), points, tone);
        }
    }
    (!is_empty).then(|| chart.svg()).transpose()
}
