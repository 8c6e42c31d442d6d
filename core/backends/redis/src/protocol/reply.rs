//! Parses the replies of the scripts.

use std::time::Duration;

use redis::{FromRedisValue, Value, from_redis_value};

use leasehold_core::FencingToken;
use leasehold_core::backend::{BackendError, Outcome, Refusal};

/// The number of characters of an unexpected reply that an error contains.
const MAX_SHOWN: usize = 256;

/// The reply to an acquire, with the server's time in microseconds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AcquireReply {
    pub(crate) server_micros: u64,
    pub(crate) verdict: AcquireOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AcquireOutcome {
    Granted(FencingToken),
    Busy {
        /// `None` if the key does not have a TTL.
        holder_left: Option<Duration>,
        first: bool,
    },
    Late,
    Exhausted,
    Refused(Refusal),
    Recorded(Outcome),
}

/// The result for the waiter that a release named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandoffOutcome {
    /// The waiter holds the lock now, under this token.
    Passed(FencingToken),
    /// Another waiter was before the named waiter, or the release did not name a waiter.
    NotPassed,
    /// The server's queue is empty, so the server has lost the waiter's position.
    Unawaited,
}

/// The reply to a release or cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseReply {
    /// The owner's lock and queue position have ended.
    Ended {
        /// Whether the owner held the lock.
        held: bool,
        outcome: HandoffOutcome,
    },
    /// The owner's lock and queue position have ended, but duplicate requests of the owner may still arrive.
    Unsealed,
}

pub(crate) fn released(value: Value) -> Result<ReleaseReply, BackendError> {
    let said = words(value)?;
    let said = said.as_str();
    let (word, passed) = match said.split_once(' ') {
        Some((word, token)) => (word, Some(token)),
        None => (said, None),
    };
    let held = match (word, passed) {
        ("left", _) => true,
        ("absent", _) => false,
        ("unsealed", None) => return Ok(ReleaseReply::Unsealed),
        _ => return Err(unexpected_reply(&[said])),
    };
    let outcome = match passed {
        None => HandoffOutcome::NotPassed,
        Some("unawaited") => HandoffOutcome::Unawaited,
        Some(token) => HandoffOutcome::Passed(number_token(token)?),
    };
    Ok(ReleaseReply::Ended { held, outcome })
}

pub(crate) fn acquired(value: Value) -> Result<AcquireReply, BackendError> {
    let value = match value {
        Value::Array(parts) => return recorded(parts),
        text => text,
    };
    let said = words(value)?;
    let unexpected_reply = || unexpected_reply(&[&said]);
    let mut fields = said.split(' ');
    let (Some(word), Some(now)) = (fields.next(), fields.next()) else {
        return Err(unexpected_reply());
    };
    let verdict = match (word, fields.next(), fields.next(), fields.next()) {
        ("granted", token, None, None) => {
            AcquireOutcome::Granted(number_token(token.unwrap_or(now))?)
        }
        ("busy", Some(left), Some(first), None) => AcquireOutcome::Busy {
            holder_left: millis(left),
            first: first == "1",
        },
        ("mixed", None, None, None) => AcquireOutcome::Refused(Refusal::OtherKind),
        ("spent", None, None, None) => AcquireOutcome::Refused(Refusal::HandoverSpent),
        ("late", None, None, None) => AcquireOutcome::Late,
        ("exhausted", None, None, None) => AcquireOutcome::Exhausted,
        _ => return Err(unexpected_reply()),
    };
    Ok(AcquireReply {
        server_micros: now.parse().map_err(|_| unexpected_reply())?,
        verdict,
    })
}

/// Parses a reply with the outcome of an earlier holder: the token, the owner, `+` or `-`, and the bytes.
fn recorded(parts: Vec<Value>) -> Result<AcquireReply, BackendError> {
    let Ok([head, outcome]) = <[Value; 2]>::try_from(parts) else {
        return Err(unexpected_reply(&["a list"]));
    };
    let head = words(head)?;
    let micros = head.strip_prefix("recorded ").map(str::parse);
    let Some(Ok(server_micros)) = micros else {
        return Err(unexpected_reply(&[&head]));
    };
    let outcome: Vec<u8> = read(outcome)?;
    let mut parts = outcome.splitn(3, |&byte| byte == b' ');
    let (token, _owner, rest) = (parts.next(), parts.next(), parts.next());
    let (failed, bytes) = match rest.and_then(<[u8]>::split_first) {
        Some((b'+', bytes)) => (false, bytes),
        Some((b'-', bytes)) => (true, bytes),
        _ => return Err(unexpected_reply(&["a damaged outcome"])),
    };
    let token = number_token(&shown(token.unwrap_or_default()))?;
    Ok(AcquireReply {
        server_micros,
        verdict: AcquireOutcome::Recorded(Outcome::new(token, failed, bytes.to_vec())),
    })
}

/// Returns an outcome in the form that [`recorded`] parses after token and owner.
pub(crate) fn encoded(outcome: &Outcome) -> Vec<u8> {
    let mark = if outcome.failed { b'-' } else { b'+' };
    [&[mark], &*outcome.bytes].concat()
}

/// Parses one digit for each of `count` leases. The digit states whether the server extended the lease.
pub(crate) fn digits(value: Value, count: usize) -> Result<Vec<bool>, BackendError> {
    let digits: String = read(value)?;
    let said = digits.bytes().map(|digit| match digit {
        b'0' => Some(false),
        b'1' => Some(true),
        _ => None,
    });
    let said: Option<Vec<bool>> = said.collect();
    said.filter(|said| said.len() == count)
        .ok_or_else(|| unexpected_reply(&[&digits]))
}

/// Returns bytes as text, lossily.
pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the text of a reply that consists of words.
fn words(value: Value) -> Result<String, BackendError> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes)
            .map_err(|garbled| unexpected_reply(&[&String::from_utf8_lossy(garbled.as_bytes())])),
        other => read(other),
    }
}

pub(crate) fn read<T: FromRedisValue>(value: Value) -> Result<T, BackendError> {
    from_redis_value(value).map_err(|error| {
        BackendError::unknown("unexpected script reply; check for a proxy or another version")
            .with_source(shortened(&error.to_string()))
    })
}

/// Returns a field of an `INFO` reply.
pub(crate) fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

pub(crate) fn number_token(text: &str) -> Result<FencingToken, BackendError> {
    text.parse().map_err(|error| {
        BackendError::unknown("the server drew an invalid token").with_source(error)
    })
}

/// Parses a reply of `PTTL`. Returns `None` for −1 (a key without a TTL) and for −2 (a missing key).
pub(crate) fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

pub(crate) fn unexpected_reply(fields: &[&str]) -> BackendError {
    let excerpt = shortened(&format!("{fields:?}"));
    BackendError::unknown(format!(
        "unexpected script reply {excerpt}; check for a proxy or another version"
    ))
}

/// Returns the beginning of a reply. Errors and traces contain only the beginning, because an unexpected reply may have
/// any size.
fn shortened(reply: &str) -> String {
    let mut beginning: String = reply.chars().take(MAX_SHOWN).collect();
    if beginning.len() < reply.len() {
        beginning.push('…');
    }
    beginning
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Value {
        Value::BulkString(words.into())
    }

    #[test]
    fn an_error_shows_only_the_beginning_of_a_large_reply() {
        let large = "ü".repeat(1 << 20);
        let errors = [
            released(said(&large)).unwrap_err(),
            released(said(&format!("left {large}"))).unwrap_err(),
            released(Value::Array(vec![said(&large)])).unwrap_err(),
            released(Value::BulkString(vec![0xff; 1 << 20])).unwrap_err(),
            acquired(said(&large)).unwrap_err(),
            acquired(said(&format!("granted 1 {large}"))).unwrap_err(),
            digits(said(&large), 7).unwrap_err(),
        ];
        for error in errors {
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            let message = format!("{error}: {}", cause.unwrap_or_default());
            assert!(message.len() < 5 * MAX_SHOWN, "{} bytes", message.len());
        }
    }

    #[test]
    fn a_release_reply_contains_whether_it_held_and_the_hand_off_outcome() {
        let passed = HandoffOutcome::Passed(7_i64.try_into().unwrap());
        let ended = |held, outcome| ReleaseReply::Ended { held, outcome };
        for (words, means) in [
            ("left", ended(true, HandoffOutcome::NotPassed)),
            ("left 7", ended(true, passed)),
            ("left unawaited", ended(true, HandoffOutcome::Unawaited)),
            ("absent", ended(false, HandoffOutcome::NotPassed)),
            ("absent 7", ended(false, passed)),
            ("absent unawaited", ended(false, HandoffOutcome::Unawaited)),
            ("unsealed", ReleaseReply::Unsealed),
        ] {
            assert_eq!(released(said(words)).unwrap(), means, "{words}");
        }
        for unexpected_reply in ["", "left ", "left seven", "left 7 8", "unsealed 7", "7"] {
            assert!(
                released(said(unexpected_reply)).is_err(),
                "{unexpected_reply:?}"
            );
        }
        assert!(released(Value::Nil).is_err());
    }

    #[test]
    fn an_acquire_reply_contains_the_server_time_and_the_outcome() {
        let busy = |millis: Option<u64>, first| AcquireOutcome::Busy {
            holder_left: millis.map(Duration::from_millis),
            first,
        };
        for (words, verdict) in [
            (
                "granted 5",
                AcquireOutcome::Granted(5_i64.try_into().unwrap()),
            ),
            (
                "granted 5 7",
                AcquireOutcome::Granted(7_i64.try_into().unwrap()),
            ),
            ("busy 5 30 1", busy(Some(30), true)),
            ("busy 5 -1 0", busy(None, false)),
            ("mixed 5", AcquireOutcome::Refused(Refusal::OtherKind)),
            ("spent 5", AcquireOutcome::Refused(Refusal::HandoverSpent)),
            ("late 5", AcquireOutcome::Late),
            ("exhausted 5", AcquireOutcome::Exhausted),
        ] {
            let means = acquired(said(words)).unwrap();
            assert_eq!(
                (means.server_micros, means.verdict),
                (5, verdict),
                "{words}"
            );
        }
        for unexpected_reply in [
            "",
            "granted",
            "granted five",
            "granted five 7",
            "granted 5 7 9",
            "granted 5 0.7",
            "busy 5 30",
            "5",
        ] {
            assert!(
                acquired(said(unexpected_reply)).is_err(),
                "{unexpected_reply:?}"
            );
        }
    }

    #[test]
    fn a_renewal_reply_has_exactly_one_digit_per_lease() {
        let leases = |text: &str| digits(said(text), 3);
        assert_eq!(leases("101").unwrap(), [true, false, true]);
        for unexpected_reply in ["", "10", "1010", "1x1", "-11"] {
            assert!(leases(unexpected_reply).is_err(), "{unexpected_reply:?}");
        }
        assert!(digits(Value::Nil, 3).is_err());
    }
}
