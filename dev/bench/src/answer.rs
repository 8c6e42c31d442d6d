//! The requirements of the library, each with its measured value.

use serde::Serialize;

use crate::report::figure;

/// One requirement.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Answer {
    pub(crate) what: String,
    pub(crate) asked: String,
    /// `None` if it was not measured in this run.
    pub(crate) got: Option<f64>,
    pub(crate) met: Option<bool>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

pub(crate) fn answer(
    what: impl Into<String>,
    bound: Bound,
    unit: &str,
    got: Option<f64>,
) -> Answer {
    let (asked, met) = match bound {
        Bound::AtMost(limit) => (format!("≤ {limit}{unit}"), got.map(|got| got <= limit)),
        Bound::AtLeast(limit) => (format!("≥ {limit}{unit}"), got.map(|got| got >= limit)),
    };
    Answer {
        what: what.into(),
        asked,
        got,
        met,
    }
}

pub(crate) fn print(answers: &[Answer]) {
    println!("\nAsked, and got in this run");
    for it in answers {
        let got = it.got.map_or("–".to_owned(), figure);
        let met = match it.met {
            Some(true) => "met",
            Some(false) => "NOT met",
            None => "not measured",
        };
        println!("  {:76} {:>12} {got:>10}   {met}", it.what, it.asked);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirement_is_met_unmet_or_unmeasured() {
        let met = |bound, got| answer("it", bound, "", got).met;
        assert_eq!(met(Bound::AtMost(1.1), Some(1.1)), Some(true));
        assert_eq!(met(Bound::AtMost(1.1), Some(1.2)), Some(false));
        assert_eq!(met(Bound::AtLeast(0.8), Some(0.7)), Some(false));
        assert_eq!(met(Bound::AtLeast(0.8), None), None);
    }
}
