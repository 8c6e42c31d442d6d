/// Formats a number with three significant digits, thin spaces between thousands, and no unnecessary decimals.
///
/// ```
/// use leasehold_charts::figure;
/// assert_eq!(figure(12_508.4), "12\u{202f}508");
/// assert_eq!(figure(83.27), "83.3");
/// assert_eq!(figure(0.584), "0.58");
/// assert_eq!(figure(0.0), "0");
/// ```
#[must_use]
pub fn figure(value: f64) -> String {
    let size = value.abs();
    if value.fract() == 0.0 || size >= 100.0 {
        return grouped(&format!("{value:.0}"));
    }
    let decimals = if size >= 10.0 { 1 } else { 2 };
    format!("{value:.decimals$}")
}

fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}
