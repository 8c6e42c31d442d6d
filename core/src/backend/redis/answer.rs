//! What the scripts answer, in our words.

use std::collections::VecDeque;
use std::time::Duration;

use redis::{FromRedisValue, Value, from_redis_value};

use crate::backend::{BackendError, Inspection, Refusal};
use crate::{FencingToken, OwnerId};

/// The answer to an acquire, with the server's time in microseconds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Acquired {
    pub(super) server_micros: u64,
    pub(super) verdict: Verdict,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Granted(FencingToken),
    Busy {
        /// None if the key has no TTL.
        holder_left: Option<Duration>,
        first: bool,
    },
    Late,
    Exhausted,
    Refused(Refusal),
}

/// What became of the waiter that a release named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HandOn {
    /// The lock is its own now, under this token.
    Passed(FencingToken),
    /// It was not its turn, or nobody was named.
    None,
    /// Nobody stands in line, so that the server has forgotten its place.
    Unawaited,
}

/// The answer to a release or cleanup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// What the owner had has ended.
    Ended {
        /// It held the lock.
        held: bool,
        outcome: HandOn,
    },
    /// The same, but copies of its request may still come.
    Unsealed,
}

pub(super) fn left(value: Value) -> Result<Left, BackendError> {
    let said = words(value)?;
    let said = said.as_str();
    let (word, passed) = match said.split_once(' ') {
        Some((word, token)) => (word, Some(token)),
        None => (said, None),
    };
    let held = match (word, passed) {
        ("left", _) => true,
        ("absent", _) => false,
        ("unsealed", None) => return Ok(Left::Unsealed),
        _ => return Err(strange(&[said])),
    };
    let outcome = match passed {
        None => HandOn::None,
        Some("unawaited") => HandOn::Unawaited,
        Some(token) => HandOn::Passed(number_token(token)?),
    };
    Ok(Left::Ended { held, outcome })
}

pub(super) fn acquired(value: Value) -> Result<Acquired, BackendError> {
    let said = words(value)?;
    let strange = || strange(&[&said]);
    let mut fields = said.split(' ');
    let (Some(word), Some(now)) = (fields.next(), fields.next()) else {
        return Err(strange());
    };
    let verdict = match (word, fields.next(), fields.next(), fields.next()) {
        ("granted", token, None, None) => Verdict::Granted(number_token(token.unwrap_or(now))?),
        ("busy", Some(left), Some(first), None) => Verdict::Busy {
            holder_left: millis(left),
            first: first == "1",
        },
        ("mixed", None, None, None) => Verdict::Refused(Refusal::OtherKind),
        ("spent", None, None, None) => Verdict::Refused(Refusal::HandoverSpent),
        ("late", None, None, None) => Verdict::Late,
        ("exhausted", None, None, None) => Verdict::Exhausted,
        _ => return Err(strange()),
    };
    Ok(Acquired {
        server_micros: now.parse().map_err(|_| strange())?,
        verdict,
    })
}

/// A digit for each of `count` leases: whether it was extended.
pub(super) fn digits(value: Value, count: usize) -> Result<Vec<bool>, BackendError> {
    let digits: String = read(value)?;
    let said = digits.bytes().map(|digit| match digit {
        b'0' => Some(false),
        b'1' => Some(true),
        _ => None,
    });
    let said: Option<Vec<bool>> = said.collect();
    said.filter(|said| said.len() == count)
        .ok_or_else(|| strange(&[&digits]))
}

pub(super) fn inspected(value: Value) -> Result<Inspection, BackendError> {
    let (holder, rest) = holder_first(value)?;
    let fields: Vec<&str> = rest.iter().map(String::as_str).collect();
    let [token, left, holders, waiting] = fields[..] else {
        return Err(strange(&fields));
    };
    Ok(Inspection {
        owner: (!holder.is_empty()).then(|| holder_shown(&holder)),
        token: token.parse().ok(),
        expires_in: millis(left),
        holders: holders.parse().map_err(|_| strange(&fields))?,
        waiting: waiting.parse().map_err(|_| strange(&fields))?,
    })
}

/// An answer of words behind a holder, who may be another program's: its id need not be text.
pub(super) fn holder_first(value: Value) -> Result<(Vec<u8>, Vec<String>), BackendError> {
    let mut words: VecDeque<Value> = read::<Vec<Value>>(value)?.into();
    let holder = words.pop_front().ok_or_else(|| strange(&[]))?;
    let rest = words.into_iter().map(read).collect::<Result<_, _>>()?;
    Ok((read(holder)?, rest))
}

/// A holder, as people are shown it.
pub(super) fn holder_shown(holder: &[u8]) -> String {
    OwnerId::shown(shown(holder))
}

/// Bytes as text, as far as they are.
pub(super) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// An answer of words, which come as they are.
fn words(value: Value) -> Result<String, BackendError> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes)
            .map_err(|garbled| strange(&[&String::from_utf8_lossy(garbled.as_bytes())])),
        other => read(other),
    }
}

pub(super) fn read<T: FromRedisValue>(value: Value) -> Result<T, BackendError> {
    from_redis_value(value).map_err(|error| {
        BackendError::unknown("the server answered something that no script of ours says")
            .with_source(error)
    })
}

/// A field of what `INFO` says.
pub(super) fn info_field<'a>(info: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = info.lines();
    lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
}

pub(super) fn number_token(text: &str) -> Result<FencingToken, BackendError> {
    text.parse()
        .map_err(|error| BackendError::unknown("the server drew no valid token").with_source(error))
}

/// PTTL answers −1 for a key without TTL and −2 for no key.
pub(super) fn millis(text: &str) -> Option<Duration> {
    text.parse().ok().map(Duration::from_millis)
}

pub(super) fn strange(fields: &[&str]) -> BackendError {
    BackendError::unknown(format!(
        "the server answered {fields:?}, which no script of ours says"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &str) -> Value {
        Value::BulkString(words.into())
    }

    #[test]
    fn an_answer_to_a_release_says_whether_it_held_and_what_it_passed_on() {
        let passed = HandOn::Passed(7_i64.try_into().unwrap());
        let ended = |held, outcome| Left::Ended { held, outcome };
        for (words, means) in [
            ("left", ended(true, HandOn::None)),
            ("left 7", ended(true, passed)),
            ("left unawaited", ended(true, HandOn::Unawaited)),
            ("absent", ended(false, HandOn::None)),
            ("absent 7", ended(false, passed)),
            ("absent unawaited", ended(false, HandOn::Unawaited)),
            ("unsealed", Left::Unsealed),
        ] {
            assert_eq!(left(said(words)).unwrap(), means, "{words}");
        }
        for strange in ["", "left ", "left seven", "left 7 8", "unsealed 7", "7"] {
            assert!(left(said(strange)).is_err(), "{strange:?}");
        }
        assert!(left(Value::Nil).is_err());
    }

    #[test]
    fn an_answer_to_an_acquire_has_the_time_and_a_verdict() {
        let busy = |millis: Option<u64>, first| Verdict::Busy {
            holder_left: millis.map(Duration::from_millis),
            first,
        };
        for (words, verdict) in [
            ("granted 5", Verdict::Granted(5_i64.try_into().unwrap())),
            ("granted 5 7", Verdict::Granted(7_i64.try_into().unwrap())),
            ("busy 5 30 1", busy(Some(30), true)),
            ("busy 5 -1 0", busy(None, false)),
            ("mixed 5", Verdict::Refused(Refusal::OtherKind)),
            ("spent 5", Verdict::Refused(Refusal::HandoverSpent)),
            ("late 5", Verdict::Late),
            ("exhausted 5", Verdict::Exhausted),
        ] {
            let means = acquired(said(words)).unwrap();
            assert_eq!(
                (means.server_micros, means.verdict),
                (5, verdict),
                "{words}"
            );
        }
        for strange in [
            "",
            "granted",
            "granted five",
            "granted five 7",
            "granted 5 7 9",
            "granted 5 0.7",
            "busy 5 30",
            "5",
        ] {
            assert!(acquired(said(strange)).is_err(), "{strange:?}");
        }
    }

    #[test]
    fn leases_are_answered_by_a_digit_each_and_by_nothing_else() {
        let leases = |text: &str| digits(said(text), 3);
        assert_eq!(leases("101").unwrap(), [true, false, true]);
        for strange in ["", "10", "1010", "1x1", "-11"] {
            assert!(leases(strange).is_err(), "{strange:?}");
        }
        assert!(digits(Value::Nil, 3).is_err());
    }
}
