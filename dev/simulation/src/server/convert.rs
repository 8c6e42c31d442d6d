//! Numbers as Redis reads and writes them.

/// A score as it is given.
pub(super) fn score(text: &str) -> Option<f64> {
    match text {
        "-inf" => Some(f64::NEG_INFINITY),
        "+inf" | "inf" => Some(f64::INFINITY),
        _ => text.parse().ok().filter(|it: &f64| it.is_finite()),
    }
}

/// A score as it is written. Those of the scripts are whole numbers below 2^53.
pub(super) fn written(score: f64) -> String {
    format!("{score}")
}
