//! A row of the table, and the state of its key.

use std::borrow::Cow;

use leasehold_core::backend::Claim;
use leasehold_core::backend::key_state::{DecodeError, ExclusiveLease, KeyState};
use leasehold_core::{AttemptId, EndReason, FencingToken};

use super::clock_micros::{micros, time};

/// The columns of a row, except for its key.
///
/// The columns `owner`, `token` and `expires_at` contain the lease of the exclusive holder. So one statement can check
/// or renew this lease. The column `state` contains everything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Increases with each change of the row. A deleted row never gets an earlier version again.
    pub version: i64,
    /// The exclusive holder that has confirmed its grant.
    pub owner: Option<Vec<u8>>,
    /// The last token of the key.
    pub token: i64,
    /// The end of the exclusive lease, in microseconds of the database's clock.
    pub expires_at: i64,
    /// The end of the last lease, position or outcome in `state`.
    pub kept_until: i64,
    /// Until then no single statement acquires the lock, because a late statement of an ended attempt could do so.
    pub closed_until: i64,
    /// The encoded state, or `None` if it contains nothing but the exclusive lease.
    pub state: Option<Vec<u8>>,
    /// The label of the exclusive holder's manager.
    pub label: Option<String>,
}

/// A row at one time of the database's clock, or the absence of the row.
#[derive(Debug)]
pub struct Reading {
    /// The time, in microseconds since 1970.
    pub now: i64,
    /// The row, if it exists.
    pub record: Option<Record>,
}

impl Reading {
    /// Returns why the exclusive lease of a claim has ended, or `None` if the lease is valid.
    pub fn end_of(&self, claim: &Claim) -> Option<EndReason> {
        let owner = claim.owner.to_bytes();
        let owned = self.record.as_ref().filter(|it| {
            it.owner.as_deref() == Some(owner.as_slice()) && it.token == claim.token.get()
        });
        match owned {
            None => Some(EndReason::Gone),
            Some(record) if record.expires_at <= self.now => Some(EndReason::Expired),
            Some(_) => None,
        }
    }
}

/// The result of the statement that acquires a free lock.
#[derive(Debug)]
pub(super) enum Taken {
    /// The caller holds the lock under this token.
    Token(FencingToken),
    /// The statement changed nothing.
    Busy(Reading),
}

/// The result of the deletion of old rows in one page.
#[derive(Debug)]
pub struct Swept {
    /// The number of deleted rows.
    pub deleted: u64,
    /// The last key of the page, or `None` if the page was empty.
    pub last: Option<String>,
}

impl Record {
    /// Returns the row of a key without holders, waiters or tokens.
    pub(super) const fn absent() -> Self {
        Self {
            version: 0,
            owner: None,
            token: 0,
            expires_at: 0,
            kept_until: 0,
            closed_until: 0,
            state: None,
            label: None,
        }
    }

    /// Returns the state in the columns.
    pub(super) fn state(&self) -> Result<KeyState, DecodeError> {
        let mut state = match &self.state {
            None => KeyState::default(),
            Some(state) => KeyState::decode(state)?,
        };
        let owner = self.owner.as_deref();
        let owner = owner.and_then(|it| it.try_into().ok());
        if let (Some(owner), Ok(token)) = (owner, FencingToken::try_from(self.token)) {
            state.set_exclusive_lease(ExclusiveLease {
                owner: AttemptId::from_bytes(owner),
                token,
                expires: time(self.expires_at),
                label: self.label.clone().map(Cow::Owned),
            });
        }
        Ok(state)
    }

    /// Returns the row after a change of its state. No statement may acquire the lock alone before `closed_until`.
    pub(super) fn with(&self, state: &KeyState, token: i64, closed_until: i64) -> Self {
        let lease = state.exclusive_lease();
        let plain = state.is_idle() || state.is_exclusive_lease();
        Self {
            version: self.version,
            owner: lease.as_ref().map(|it| it.owner.to_bytes().to_vec()),
            token,
            expires_at: lease.as_ref().map_or(0, |it| micros(it.expires)),
            kept_until: micros(state.kept_until()),
            closed_until: self.closed_until.max(closed_until),
            state: (!plain).then(|| state.encode()),
            label: lease.and_then(|it| it.label).map(Cow::into_owned),
        }
    }
}
