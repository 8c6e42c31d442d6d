//! The charts: for each method the number of purchases, the retries, and the time per purchase.

use std::fs;
use std::path::Path;
use std::time::Duration;

use leasehold_charts::{Bar, BarChart, Tone, figure};
use leasehold_examples::BoxError;

use crate::cell::{Load, Method};
use crate::outcome::Outcome;

pub(crate) fn draw(folder: &Path, length: Duration, results: &[Outcome]) -> Result<(), BoxError> {
    let length = length.as_secs_f64();
    let bought = chart(
        "Items bought",
        &format!("in {length} s; more is better"),
        results,
        |label, it| Bar::new(label, it.bought as f64),
    );
    let retries = chart(
        "Retried deals",
        &format!("in {length} s, because another deal was faster; fewer is better"),
        results,
        |label, it| Bar::new(label, it.retries as f64),
    );
    let wait = chart(
        "Mean time per purchase",
        "in milliseconds, including waiting and retries; less is better",
        results,
        |label, it| match it.mean_wait_ms {
            Some(mean) => Bar::new(label, mean).said(format!("{} ms", figure(mean))),
            None => Bar::none(label, "nothing was bought"),
        },
    );
    let files = [
        ("bought.svg", bought),
        ("retries.svg", retries),
        ("wait.svg", wait),
    ];
    for (name, chart) in files {
        let path = folder.join(name);
        fs::write(&path, chart.svg()?)?;
        println!("drawn: {}", path.display());
    }
    Ok(())
}

fn chart(
    title: &str,
    subtitle: &str,
    results: &[Outcome],
    bar: impl Fn(&str, &Outcome) -> Bar,
) -> BarChart {
    let mut chart = BarChart::new(title, subtitle);
    for load in Load::ALL {
        let of_load = results.iter().filter(|it| it.cell.load == load);
        let bars = of_load.map(|it| {
            let tone = match it.cell.method {
                Method::Watch => Tone::Quiet,
                Method::OneLock => Tone::Soft,
                Method::PerItem => Tone::Accent,
            };
            bar(it.method, it).tone(tone)
        });
        chart = chart.group(load.name(), bars);
    }
    chart
}
