//! Parses the state of a key.

use std::time::Duration;

use redis::{FromRedisValue, Value};

use super::reply::{millis, read, shown, unexpected_reply};
use leasehold_core::backend::{BackendError, HolderInfo, Inspection};
use leasehold_core::{AttemptId, FencingToken};

/// The state of a key, as the server has it.
#[derive(Debug)]
pub(crate) struct KeyView {
    /// The only holder; empty if the key is free, or may have several holders.
    holder: Vec<u8>,
    token: Option<FencingToken>,
    left: Option<Duration>,
    holders: usize,
    waiting: usize,
    /// The shared holders, or the holders of permits.
    shares: Vec<Share>,
}

/// The lease of a shared holder, or of a holder of permits.
#[derive(Debug)]
struct Share {
    owner: Vec<u8>,
    permits: usize,
    left: Duration,
}

impl KeyView {
    pub(crate) fn read(reply: Value) -> Result<Self, BackendError> {
        let parts: Vec<Value> = read(reply)?;
        let count = parts.len();
        let Ok([holder, token, left, holders, waiting, now, shares]) =
            <[Value; 7]>::try_from(parts)
        else {
            return Err(unexpected_reply(&[&format!("a list of {count}")]));
        };
        let (left, token): (String, String) = (read(left)?, read(token)?);
        Ok(Self {
            holder: read(holder)?,
            token: token.parse().ok(),
            left: millis(&left),
            holders: number(holders)?,
            waiting: number(waiting)?,
            shares: grouped(read(shares)?, number(now)?)?,
        })
    }

    /// Returns whether a manager holds the lock. The owner of another program does not have a label.
    pub(crate) fn is_held_by_managers(&self) -> bool {
        self.holders > 0 && (self.holder.is_empty() || named(&self.holder).1.is_some())
    }

    /// Returns the holder with this [id](HolderInfo::id), as the server stores it.
    pub(crate) fn holder(&self, id: &str) -> Option<&[u8]> {
        let holders = self.shares.iter().map(|share| &*share.owner);
        let mut holders = holders.chain((!self.holder.is_empty()).then_some(&*self.holder));
        holders.find(|holder| named(holder).0 == id)
    }

    pub(crate) fn shown(&self) -> Inspection {
        let shares = self.shares.iter();
        let mut held_by: Vec<HolderInfo> = shares
            .map(|share| info(&share.owner, share.permits, Some(share.left)))
            .collect();
        let owner = (!self.holder.is_empty()).then(|| info(&self.holder, 1, self.left));
        held_by.extend(owner.clone());
        let mut seen = Inspection::default();
        seen.owner = owner.map(|owner| owner.id);
        seen.token = self.token;
        seen.granted_at = self.token.map(FencingToken::generated_at);
        seen.expires_in = self.left;
        seen.holders = self.holders;
        seen.held_by = held_by;
        seen.waiting = self.waiting;
        seen
    }
}

/// Returns the entry of a holder.
pub(crate) fn info(holder: &[u8], permits: usize, expires_in: Option<Duration>) -> HolderInfo {
    let (id, label) = named(holder);
    HolderInfo::with_id(id, permits, expires_in).labelled(label)
}

/// Returns the text to show for a holder, and its label.
fn named(holder: &[u8]) -> (String, Option<String>) {
    AttemptId::shown(shown(holder))
}

/// Returns the holders of these members of `shares`, which have the form `owner:0`. The members of one owner follow each
/// other, because they have the same end.
fn grouped(members: Vec<(Vec<u8>, f64)>, now: f64) -> Result<Vec<Share>, BackendError> {
    let mut shares: Vec<Share> = Vec::new();
    for (mut owner, ends) in members {
        let Some(colon) = owner.iter().rposition(|&byte| byte == b':') else {
            return Err(unexpected_reply(&["a member without a number"]));
        };
        owner.truncate(colon);
        match shares.last_mut().filter(|last| last.owner == owner) {
            Some(last) => last.permits += 1,
            None => shares.push(Share {
                owner,
                permits: 1,
                left: Duration::try_from_secs_f64((ends - now) / 1e6).unwrap_or_default(),
            }),
        }
    }
    Ok(shares)
}

fn number<T: FromRedisValue>(value: Value) -> Result<T, BackendError> {
    read(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: impl AsRef<[u8]>) -> Value {
        Value::BulkString(text.as_ref().to_vec())
    }

    fn state(holder: &str, holders: &str, shares: Vec<Value>) -> Value {
        let words = [holder, "7", "1500", holders, "2", "1800000000000000"];
        let mut parts: Vec<Value> = words.iter().map(text).collect();
        parts.push(Value::Array(shares));
        Value::Array(parts)
    }

    #[test]
    fn an_inspection_shows_the_only_holder_with_label_and_lease() {
        let owner = AttemptId::random();
        let stored = format!("{}@api-7", owner.reveal());
        let view = KeyView::read(state(&stored, "1", Vec::new())).unwrap();
        let seen = view.shown();
        assert_eq!(seen.owner, Some(owner.to_string()));
        let [holder] = &seen.held_by[..] else {
            panic!("{seen:?}");
        };
        assert_eq!(holder.id, owner.to_string());
        assert_eq!(holder.label.as_deref(), Some("api-7"));
        let left = Some(Duration::from_millis(1500));
        assert_eq!((holder.permits, holder.expires_in), (1, left));
        assert_eq!(view.holder(&holder.id), Some(stored.as_bytes()));
        assert_eq!(view.holder("0123456789ab"), None);
    }

    #[test]
    fn the_permits_of_one_holder_are_one_entry() {
        let (one, other) = (AttemptId::random().reveal(), AttemptId::random().reveal());
        let members = [
            (format!("{one}@api:7:0"), "1800000002000000"),
            (format!("{one}@api:7:1"), "1800000002000000"),
            (format!("{other}:0"), "1800000003000000"),
        ];
        let members = members
            .iter()
            .flat_map(|(owner, ends)| [text(owner), text(ends)]);
        let view = KeyView::read(state("", "3", members.collect())).unwrap();
        let seen = view.shown();
        assert_eq!((seen.owner, seen.holders, seen.waiting), (None, 3, 2));
        let holders = seen.held_by.iter();
        let holders: Vec<_> = holders
            .map(|it| {
                (
                    it.label.as_deref(),
                    it.permits,
                    it.expires_in.map(|it| it.as_secs()),
                )
            })
            .collect();
        assert_eq!(holders, [(Some("api:7"), 2, Some(2)), (None, 1, Some(3))]);
        let stored = format!("{one}@api:7");
        assert_eq!(view.holder(&seen.held_by[0].id), Some(stored.as_bytes()));
    }

    #[test]
    fn an_unexpected_reply_is_refused() {
        for reply in [Value::Nil, Value::Array(Vec::new()), text("OK")] {
            assert!(KeyView::read(reply).is_err());
        }
    }
}
