//! What the reader sees.

use serde::Serialize;

/// One figure.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) contestant: &'static str,
    pub(crate) metric: &'static str,
    /// None if all slices were void.
    pub(crate) value: Option<f64>,
    pub(crate) ratio_to_raw: Option<f64>,
}

/// What came of a workload.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// Slices that do not count, of how many.
    pub(crate) void: (usize, usize),
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    workload: &'a str,
    contestant: &'a str,
    metric: &'a str,
    value: Option<f64>,
    ratio_to_raw: Option<f64>,
}

/// A table for people, or a line per figure for machines, as results come in.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    pub(crate) fn opening(&self, machine: &str) {
        if !self.json {
            println!("{machine}");
        }
    }

    pub(crate) fn add(&self, workload: &str, outcome: &Outcome) {
        if self.json {
            let (void, of) = outcome.void;
            for row in &outcome.rows {
                print_line(&Line {
                    workload,
                    contestant: row.contestant,
                    metric: row.metric,
                    value: row.value,
                    ratio_to_raw: row.ratio_to_raw,
                });
            }
            print_line(&Line {
                workload,
                contestant: "all",
                metric: "void_slices",
                value: Some(void as f64 / of.max(1) as f64),
                ratio_to_raw: None,
            });
        } else {
            table(workload, outcome);
        }
    }
}

fn print_line(line: &Line<'_>) {
    match serde_json::to_string(line) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("{line:?} cannot be written: {error}"),
    }
}

fn table(workload: &str, outcome: &Outcome) {
    let (void, of) = outcome.void;
    println!("\n{workload}   ({void} of {of} slices void)");
    for row in &outcome.rows {
        let value = row.value.map_or("–".to_owned(), figure);
        let ratio = row
            .ratio_to_raw
            .map_or(String::new(), |r| format!("{r:.3}"));
        println!(
            "  {:22} {:24} {value:>12} {ratio:>8}",
            row.contestant, row.metric
        );
    }
}

/// Three digits and more.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
