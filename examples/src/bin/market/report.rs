//! The output.

use std::io::{IsTerminal, Write, stdout};
use std::time::{Duration, Instant};

use leasehold_charts::figure;
use serde::Serialize;

use crate::cell::{Cell, Load, Method, Pace};
use crate::outcome::Outcome;
use crate::score::Score;

pub(crate) fn opening(pace: Pace, own: bool) {
    let Pace { length, decision } = pace;
    let place = match own {
        true => "an own Redis",
        false => "your Redis",
    };
    println!(
        "A market on {place}: nine cells of {length:?}, each player a process; a buyer decides within {decision:?}.\n"
    );
}

/// Shows the progress: one line that is updated on a terminal, or one line per cell elsewhere.
#[derive(Debug)]
pub(crate) struct Progress {
    name: String,
    begin: Instant,
    length: Duration,
}

impl Progress {
    pub(crate) fn new(place: usize, cell: Cell, length: Duration) -> Self {
        let (place, load, method) = (place + 1, cell.load.name(), cell.method.name());
        Self {
            name: format!("{place} of 9  {load:20}  {method:17}"),
            begin: Instant::now(),
            length,
        }
    }

    pub(crate) fn show(&mut self, all: &Score) {
        if stdout().is_terminal() {
            let left = self
                .length
                .saturating_sub(self.begin.elapsed())
                .as_secs_f32();
            print!("\r{}  {left:4.1} s to go  {}  ", self.name, counts(all));
            // The market continues even if the progress cannot be shown.
            let _shown = stdout().flush();
        }
    }

    pub(crate) fn end(self, all: &Score) {
        let back = if stdout().is_terminal() { "\r" } else { "" };
        println!("{back}{}  books balance  {}  ", self.name, counts(all));
    }
}

fn counts(all: &Score) -> String {
    let Score {
        listed,
        bought,
        retries,
        ..
    } = all;
    format!("listed {listed:7}  bought {bought:7}  retries {retries:7}")
}

pub(crate) fn table(results: &[Outcome]) {
    println!(
        "\n{:20} {:>9} {:>9} {:>9} {:>11}",
        "", "listed", "bought", "retries", "mean wait"
    );
    for load in Load::ALL {
        println!("{}", load.name());
        for result in results.iter().filter(|it| it.cell.load == load) {
            let wait = result
                .mean_wait_ms
                .map_or("-".to_owned(), |it| format!("{it:.2} ms"));
            let Outcome {
                method,
                listed,
                bought,
                retries,
                ..
            } = result;
            println!("  {method:18} {listed:9} {bought:9} {retries:9} {wait:>11}");
        }
    }
    println!();
    for load in Load::ALL {
        println!("{}", verdict(load, results));
    }
}

fn verdict(load: Load, results: &[Outcome]) -> String {
    let bought = |method| {
        let mut of_load = results.iter().filter(|it| it.cell.load == load);
        let found = of_load.find(|it| it.cell.method == method);
        found.map_or(0.0, |it| it.bought as f64)
    };
    let per_item = bought(Method::PerItem);
    let compared = |method: Method| match bought(method) {
        0.0 => format!("while {} bought none", method.name()),
        other => format!("{:.1} times as many as {}", per_item / other, method.name()),
    };
    format!(
        "{}: a lock per item bought {}, {}, {}",
        load.name(),
        figure(per_item),
        compared(Method::Watch),
        compared(Method::OneLock),
    )
}

pub(crate) fn json(pace: Pace, results: &[Outcome]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Market<'a> {
        seconds: f64,
        decide_ms: f64,
        cells: &'a [Outcome],
    }
    serde_json::to_string_pretty(&Market {
        seconds: pace.length.as_secs_f64(),
        decide_ms: pace.decision.as_secs_f64() * 1000.0,
        cells: results,
    })
}
