//! Parses and formats numbers like Redis.

/// Parses a score.
pub(super) fn score(text: &str) -> Option<f64> {
    match text {
        "-inf" => Some(f64::NEG_INFINITY),
        "+inf" | "inf" => Some(f64::INFINITY),
        _ => text.parse().ok().filter(|it: &f64| it.is_finite()),
    }
}

/// Formats a score. The scores of the scripts are integers below 2^53.
pub(super) fn written(score: f64) -> String {
    format!("{score}")
}
