use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderName, HeaderValue};
use leasehold_core::FencingToken;

use crate::{Problem, ProblemKind};

/// The header that carries a fencing token: `x-fencing-token: 1795219200123457`.
pub const FENCING_TOKEN: HeaderName = HeaderName::from_static("x-fencing-token");

pub(super) fn write(headers: &mut HeaderMap, token: FencingToken) {
    headers.insert(FENCING_TOKEN, HeaderValue::from(token.get()));
}

pub(super) fn read(headers: &HeaderMap) -> Result<FencingToken, Problem> {
    let mut values = headers.get_all(FENCING_TOKEN).into_iter();
    let Some(value) = values.next() else {
        let detail = format!("send the token of your lock as `{FENCING_TOKEN}`");
        return Err(Problem::new(ProblemKind::MissingToken).with_detail(detail));
    };
    if values.next().is_some() {
        let detail = format!("`{FENCING_TOKEN}` was sent more than once; send it once");
        return Err(Problem::new(ProblemKind::InvalidToken).with_detail(detail));
    }
    // Treat a value that is not text as an empty text, because parsing an empty text as a number fails.
    Ok(value.to_str().unwrap_or_default().parse()?)
}

/// Refuses a token that no lock can have at `now`. Tokens are at most the time of day in microseconds.
pub(super) fn check(token: FencingToken, now: SystemTime, lead: Duration) -> Result<(), Problem> {
    let now = now
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    let largest = now.saturating_add(lead).as_micros();
    if u128::from(token.get().unsigned_abs()) <= largest {
        return Ok(());
    }
    let detail = "no lock can have this token yet; send the token of your lock";
    Err(Problem::new(ProblemKind::InvalidToken).with_detail(detail))
}

#[cfg(test)]
mod tests {
    use leasehold_testkit::depth;

    use super::*;

    /// The number of values in `cargo test`.
    const VALUES: u64 = 20_000;

    #[test]
    fn token_further_ahead_than_the_lead_is_refused() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(1_795_219_200_123_457);
        let (lead, ahead) = (Duration::from_secs(60), 60_000_000);
        let check = |token: i64, lead| check(token.try_into().unwrap(), now, lead);
        for token in [1, 0x1_0000_0002, 1_795_219_200_123_457 + ahead] {
            assert_eq!(check(token, lead), Ok(()), "{token}");
        }
        for token in [1_795_219_200_123_458 + ahead, i64::MAX] {
            let refused = check(token, lead).unwrap_err();
            assert_eq!(refused.kind(), ProblemKind::InvalidToken, "{token}");
            assert_eq!(check(token, Duration::MAX), Ok(()), "{token}");
        }
    }

    #[test]
    fn garbled_values_are_refused_or_parsed_exactly() {
        let mut random = fastrand::Rng::with_seed(depth::seed());
        let (mut read_some, mut refused_some) = (false, false);
        for _ in 0..depth::scaled(VALUES) {
            let mut bytes = match random.u32(0..4) {
                0 => random.i64(..).to_string().into_bytes(),
                1 => (0..random.usize(0..300)).map(|_| random.u8(..)).collect(),
                _ => random.u64(0..1 << 54).to_string().into_bytes(),
            };
            if random.bool() && !bytes.is_empty() {
                let at = random.usize(0..bytes.len());
                bytes[at] = random.u8(..);
            }
            let Ok(value) = HeaderValue::from_bytes(&bytes) else {
                continue;
            };
            let mut headers = HeaderMap::new();
            headers.insert(FENCING_TOKEN, value.clone());
            match read(&headers) {
                Ok(token) => {
                    read_some = true;
                    let written: i64 = value.to_str().unwrap().parse().unwrap();
                    assert_eq!(token.get(), written);
                }
                Err(problem) => {
                    refused_some = true;
                    assert_eq!(problem.kind(), ProblemKind::InvalidToken);
                }
            }
            headers.append(FENCING_TOKEN, value);
            assert!(read(&headers).is_err());
        }
        assert!(read_some && refused_some);
    }
}
