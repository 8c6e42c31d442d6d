use leasehold_charts::{Bar, BarChart, NotANumber, Tone, figure};

use crate::contestant::Way;
use crate::ledger::{Ledger, Place};
use crate::workload::{contended, handoff};

type Chart = Result<Option<String>, NotANumber>;

pub(super) fn owner_changes(ledger: &Ledger) -> Chart {
    let chart = BarChart::new(
        "How often a wanted lock changes its owner",
        "8 tasks want one key all the time; changes a second; more is better",
    );
    contentions(ledger, chart, "owner_changes_per_s")
}

pub(super) fn fairness(ledger: &Ledger) -> Chart {
    let chart = BarChart::new(
        "Does everybody have a turn?",
        "8 tasks want one key all the time; the fewest turns of a task by the most; 1 is fair",
    );
    contentions(ledger, chart, "fairness_min_max")
}

pub(super) fn hand_off(ledger: &Ledger) -> Chart {
    let place = Place {
        workload: handoff::NAME,
        metric: "p50_ms",
    };
    let chart = BarChart::new(
        "From a release to the next holder",
        "a lock held for 50 ms while another waits; milliseconds, median; less is better",
    );
    let bars = bars(ledger, place, " ms");
    (!bars.is_empty())
        .then(|| chart.group("", bars).svg())
        .transpose()
}

fn contentions(ledger: &Ledger, mut chart: BarChart, metric: &str) -> Chart {
    let mut is_empty = true;
    for (heading, processes) in [("in one process", 1), ("in four processes", 4)] {
        let workload = contended::name(8, 0, processes);
        let place = Place {
            workload: &workload,
            metric,
        };
        let bars = bars(ledger, place, "");
        if !bars.is_empty() {
            is_empty = false;
            chart = chart.group(heading, bars);
        }
    }
    (!is_empty).then(|| chart.svg()).transpose()
}

fn bars(ledger: &Ledger, place: Place<'_>, unit: &str) -> Vec<Bar> {
    let bar = |contestant: &'static str, value: Option<f64>| match value {
        Some(value) => Bar::new(contestant, value).said(format!("{}{unit}", figure(value))),
        None => Bar::none(contestant, "all slices void"),
    };
    let rows = ledger.rows(place);
    rows.map(|row| bar(row.contestant, row.value).tone(tone(row.contestant)))
        .collect()
}

fn tone(contestant: &str) -> Tone {
    match contestant {
        name if Way::is_peer(name) => Tone::Quiet,
        "leasehold" => Tone::Accent,
        _ => Tone::Soft,
    }
}
