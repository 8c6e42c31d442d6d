//! The compact form in which a backend stores the state of a key.
//!
//! The form is a version, then the holders, the waiters and the recorded outcome. Numbers are big-endian. Times are in
//! microseconds, rounded up, so that a stored lease does not end early.

use std::time::Duration;

use super::state::{Holder, KeyState, Recorded};
use crate::backend::{HandoverSecret, Mode, Outcome};
use crate::{AttemptId, FencingToken};

const VERSION: u8 = 1;

const CONFIRMED: u8 = 1;
const DOWNGRADED: u8 = 2;
const HANDED_OVER: u8 = 4;
const LABELLED: u8 = 8;

/// A record is not a state of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Another version of this library wrote the record.
    #[error(
        "the record has the unknown version {0}; another version of this library wrote it: use the same version in all \
         processes"
    )]
    UnknownVersion(u8),
    /// The record is damaged, or another program wrote it.
    #[error("the record is damaged at byte {0}; only this library may write it: delete the record")]
    Damaged(usize),
}

impl<W: Default> KeyState<W> {
    /// Returns the state as bytes, without the values `W` of the waiters.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut into = vec![VERSION];
        push_count(&mut into, self.holders.len());
        for holder in &self.holders {
            push_holder(&mut into, holder);
        }
        push_count(&mut into, self.queue.len());
        for waiter in self.queue.iter() {
            into.extend(waiter.owner.to_bytes());
            push_mode(&mut into, waiter.mode);
            push_time(&mut into, waiter.until);
        }
        into.push(u8::from(self.recorded.is_some()));
        if let Some(recorded) = &self.recorded {
            into.extend(recorded.outcome.token.get().to_be_bytes());
            into.push(u8::from(recorded.outcome.failed));
            push_time(&mut into, recorded.until);
            push_count(&mut into, recorded.outcome.bytes.len());
            into.extend(&recorded.outcome.bytes);
        }
        into
    }

    /// Parses the bytes that [`encode`](Self::encode) returned.
    ///
    /// # Errors
    ///
    /// Returns [`DecodeError`] if the bytes have another version, or are damaged.
    pub fn decode(record: &[u8]) -> Result<Self, DecodeError> {
        match record.first() {
            Some(&VERSION) => {}
            Some(&version) => return Err(DecodeError::UnknownVersion(version)),
            None => return Err(DecodeError::Damaged(0)),
        }
        let mut rest = &record[1..];
        match Self::read(&mut rest) {
            Some(state) if rest.is_empty() => Ok(state),
            _ => Err(DecodeError::Damaged(record.len() - rest.len())),
        }
    }

    fn read(rest: &mut &[u8]) -> Option<Self> {
        let mut state = Self::default();
        for _ in 0..number(rest)? {
            state.holders.push(holder(rest)?);
        }
        for _ in 0..number(rest)? {
            let owner = AttemptId::from_bytes(take(rest)?);
            state.queue.push(owner, mode(rest)?, time(rest)?);
        }
        if boolean(rest)? {
            let (token, failed, until) = (token(rest)?, boolean(rest)?, time(rest)?);
            let length = number(rest)? as usize;
            let outcome = Outcome::new(token, failed, rest.split_off(..length)?.to_vec());
            state.recorded = Some(Box::new(Recorded { outcome, until }));
        }
        Some(state)
    }
}

fn push_holder(into: &mut Vec<u8>, holder: &Holder) {
    into.extend(holder.owner.to_bytes());
    push_mode(into, holder.mode);
    push_time(into, holder.expires);
    let mut flags = 0;
    for (flag, set) in [
        (CONFIRMED, holder.token.is_some()),
        (DOWNGRADED, holder.downgraded),
        (HANDED_OVER, holder.secret.is_some()),
        (LABELLED, holder.label.is_some()),
    ] {
        flags |= if set { flag } else { 0 };
    }
    into.push(flags);
    into.extend(holder.token.iter().flat_map(|it| it.get().to_be_bytes()));
    into.extend(holder.secret.iter().flat_map(|it| it.to_bytes()));
    if let Some(label) = &holder.label {
        push_count(into, label.len());
        into.extend(label.as_bytes());
    }
}

fn holder(rest: &mut &[u8]) -> Option<Holder> {
    let owner = AttemptId::from_bytes(take(rest)?);
    let (mode, expires) = (mode(rest)?, time(rest)?);
    let [flags] = take(rest)?;
    if flags & !(CONFIRMED | DOWNGRADED | HANDED_OVER | LABELLED) != 0 {
        return None;
    }
    Some(Holder {
        owner,
        mode,
        expires,
        token: match flags & CONFIRMED {
            0 => None,
            _ => Some(token(rest)?),
        },
        downgraded: flags & DOWNGRADED != 0,
        secret: match flags & HANDED_OVER {
            0 => None,
            _ => Some(HandoverSecret::from_bytes(take(rest)?)),
        },
        label: match flags & LABELLED {
            0 => None,
            _ => Some(label(rest)?.into()),
        },
    })
}

fn label(rest: &mut &[u8]) -> Option<String> {
    let length = number(rest)? as usize;
    String::from_utf8(rest.split_off(..length)?.to_vec()).ok()
}

fn push_count(into: &mut Vec<u8>, count: usize) {
    // The bounds of waiters, permits and results are far below this limit.
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    into.extend(count.to_be_bytes());
}

fn push_time(into: &mut Vec<u8>, time: Duration) {
    let micros = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
    into.extend(micros.to_be_bytes());
}

fn push_mode(into: &mut Vec<u8>, mode: Mode) {
    match mode {
        Mode::Exclusive => into.push(b'x'),
        Mode::Shared => into.push(b's'),
        Mode::Permits { count, of } => {
            into.push(b'p');
            into.extend(count.to_be_bytes());
            into.extend(of.to_be_bytes());
        }
    }
}

fn mode(rest: &mut &[u8]) -> Option<Mode> {
    match take(rest)? {
        [b'x'] => Some(Mode::Exclusive),
        [b's'] => Some(Mode::Shared),
        [b'p'] => Some(Mode::Permits {
            count: number(rest)?,
            of: number(rest)?,
        }),
        _ => None,
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(*taken)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    take(rest).map(u32::from_be_bytes)
}

fn boolean(rest: &mut &[u8]) -> Option<bool> {
    match take(rest)? {
        [0] => Some(false),
        [1] => Some(true),
        _ => None,
    }
}

fn time(rest: &mut &[u8]) -> Option<Duration> {
    take(rest).map(|it| Duration::from_micros(u64::from_be_bytes(it)))
}

fn token(rest: &mut &[u8]) -> Option<FencingToken> {
    FencingToken::try_from(i64::from_be_bytes(take(rest)?)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Key;
    use crate::backend::key_state::{Step, Timing, next_token};
    use crate::backend::{Attempt, Claim};

    const NOW: Duration = Duration::from_micros(1_800_000_000_000_000);
    const TTL: Duration = Duration::from_secs(30);

    fn attempt(mode: Mode) -> Attempt {
        let mut attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, true).in_mode(mode);
        attempt.owner = attempt.owner.labelled(Some("web-3/4711"));
        attempt
    }

    /// Returns the states of a key after each step of a scenario that uses all fields.
    fn states() -> Vec<KeyState> {
        let permits = Mode::Permits { count: 3, of: 5 };
        let mut states = vec![KeyState::default()];
        for modes in [
            [Mode::Exclusive, Mode::Shared, Mode::Exclusive],
            [Mode::Shared, Mode::Exclusive, Mode::Shared],
            [permits, permits, permits],
        ] {
            let (mut state, mut notify) = (KeyState::default(), |_, _: &()| {});
            let mut step = Step::new(NOW, Timing::new(), &mut notify);
            let attempts = modes.map(attempt);
            for attempt in &attempts {
                state
                    .attempt(attempt, || next_token(NOW, 0), &mut step)
                    .unwrap();
                states.push(state.clone());
            }
            let token = state.holders[0].token.unwrap();
            let claim: Claim = attempts[0].claim(token);
            state.hand_over(&claim, HandoverSecret::random(), &mut step);
            states.push(state.clone());
            state.downgrade(&claim, &mut step);
            states.push(state.clone());
            let outcome = Outcome::new(token, true, vec![0, 1, 255]);
            state.record(&claim, &outcome, TTL, &mut step);
            states.push(state.clone());
            state.release(&attempts[1].claim(token), &mut step);
            states.push(state);
        }
        states
    }

    #[test]
    fn a_decoded_state_equals_the_encoded_state() {
        for state in states() {
            let record = state.encode();
            let decoded = KeyState::<()>::decode(&record).unwrap();
            assert_eq!(format!("{state:?}"), format!("{decoded:?}"));
            // The debug output hides secrets and results.
            assert_eq!(decoded.encode(), record);
        }
    }

    #[test]
    fn a_stored_lease_does_not_end_early() {
        let mut state = KeyState::<()>::default();
        let now = NOW + Duration::from_nanos(1);
        state
            .attempt(
                &attempt(Mode::Exclusive),
                || next_token(NOW, 0),
                &mut Step::new(now, Timing::new(), &mut |_, ()| {}),
            )
            .unwrap();
        let decoded = KeyState::<()>::decode(&state.encode()).unwrap();
        assert_eq!(
            decoded.holders[0].expires,
            NOW + TTL + Duration::from_micros(1)
        );
    }

    #[test]
    fn a_damaged_record_is_refused() {
        for state in states() {
            let mut record = state.encode();
            for length in 0..record.len() {
                let decoded = KeyState::<()>::decode(&record[..length]);
                assert!(matches!(decoded, Err(DecodeError::Damaged(_))), "{length}");
            }
            record.push(0);
            assert!(KeyState::<()>::decode(&record).is_err());
            record[0] = 2;
            let decoded = KeyState::<()>::decode(&record);
            assert_eq!(decoded.unwrap_err(), DecodeError::UnknownVersion(2));
        }
    }
}
