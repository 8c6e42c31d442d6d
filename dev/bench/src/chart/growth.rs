use leasehold_charts::{LineChart, NotANumber, Tone};

use crate::contestant::Way;
use crate::ledger::{Ledger, Place};
use crate::workload::{growth, uncontended};

type Chart = Result<Option<String>, NotANumber>;

pub(super) fn tasks(ledger: &Ledger) -> Chart {
    let steps = uncontended::TASKS;
    let chart = LineChart::new(
        "What a lock costs, by the number of tasks",
        "an acquire and a release, a key for each task; µs of all cores, client and server; less is better",
    );
    lines(chart, |way| {
        let points = steps.iter().filter_map(|&step| {
            let cost = ledger.cost(&uncontended::name(step), way.name())?;
            Some((step as f64, cost))
        });
        points.collect()
    })
}

pub(super) fn keys(ledger: &Ledger) -> Chart {
    let chart = LineChart::new(
        "What a lock costs, by the number of keys",
        "an acquire and a release of 16 tasks; µs of all cores, client and server; less is better",
    );
    lines(chart, |way| {
        let points = growth::KEYS.sizes.iter().filter_map(|size| {
            let place = Place {
                workload: growth::KEYS.workload,
                metric: size.us(),
            };
            Some((size.count as f64, ledger.value(place, way.name())?))
        });
        points.collect()
    })
}

fn lines(mut chart: LineChart, points: impl Fn(Way) -> Vec<(f64, f64)>) -> Chart {
    let mut is_empty = true;
    for (way, tone) in [
        (Way::Leasehold, Tone::Accent),
        (Way::Scripts, Tone::Soft),
        (Way::Drawing, Tone::Soft),
        (Way::Bare, Tone::Quiet),
    ] {
        let points = points(way);
        if points.len() > 1 {
            is_empty = false;
            chart = chart.line(way.name(), points, tone);
        }
    }
    (!is_empty).then(|| chart.svg()).transpose()
}
