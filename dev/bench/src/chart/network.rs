use leasehold_charts::{LineChart, NotANumber, Tone};

use crate::contestant::Way;
use crate::ledger::{Ledger, Place};
use crate::workload::network::{DELAYS, INSIDE, PAIR, name};

type Chart = Result<Option<String>, NotANumber>;

const OURS: [(Way, Tone); 3] = [
    (Way::Leasehold, Tone::Accent),
    (Way::Scripts, Tone::Soft),
    (Way::Bare, Tone::Quiet),
];

/// The two quickest peers without contention.
const PEERS: [(Way, Tone); 2] = [(Way::Rslock, Tone::Quiet), (Way::Distkit, Tone::Quiet)];

pub(super) fn pairs(ledger: &Ledger) -> Chart {
    let chart = LineChart::new(
        "An acquire and a release, by the delay of the network",
        "ms each way; ms of a pair, median; less is better",
    );
    let ms = |us: f64| us / 1e3;
    lines(chart, ledger, PAIR, &[&OURS[..], &PEERS].concat(), ms)
}

pub(super) fn grants(ledger: &Ledger) -> Chart {
    let chart = LineChart::new(
        "Grants of a wanted key, by the delay of the network",
        "ms each way; 8 tasks of a process want one key; grants a second; more is better",
    );
    let limit = (Way::Passing, Tone::Soft);
    let ways = [OURS[0], limit, PEERS[0]];
    lines(chart, ledger, INSIDE.grants, &ways, |grants| grants)
}

fn lines(
    mut chart: LineChart,
    ledger: &Ledger,
    metric: &str,
    ways: &[(Way, Tone)],
    figure: impl Fn(f64) -> f64,
) -> Chart {
    let mut is_empty = true;
    for &(way, tone) in ways {
        let points = DELAYS.iter().filter_map(|&delay| {
            let place = Place {
                workload: &name(delay),
                metric,
            };
            let value = ledger.value(place, way.name())?;
            Some((delay as f64 / 1e3, figure(value)))
        });
        let points: Vec<_> = points.collect();
        if points.len() > 1 {
            is_empty = false;
            chart = chart.line(way.name(), points, tone);
        }
    }
    (!is_empty).then(|| chart.svg()).transpose()
}
