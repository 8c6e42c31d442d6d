//! The lease of an exclusive holder, which a backend can keep apart from the rest of the state.

use std::borrow::Cow;
use std::time::Duration;

use super::state::{Holder, KeyState};
use crate::backend::Mode;
use crate::{AttemptId, FencingToken};

/// The lease of the only holder of a key, in [`Mode::Exclusive`], under its token.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(
    clippy::exhaustive_structs,
    reason = "backends construct this from their columns"
)]
pub struct ExclusiveLease {
    /// The holder.
    pub owner: AttemptId,
    /// The token of the holder.
    pub token: FencingToken,
    /// The end of the lease, by the clock of the steps.
    pub expires: Duration,
    /// The label of the holder's manager.
    pub label: Option<Cow<'static, str>>,
}

impl<W: Default> KeyState<W> {
    /// Returns the lease of the only holder in [`Mode::Exclusive`], if that holder has confirmed its grant.
    #[must_use]
    pub fn exclusive_lease(&self) -> Option<ExclusiveLease> {
        let mut holders = self.holders.iter();
        let holder = holders.find(|h| h.mode == Mode::Exclusive)?;
        Some(ExclusiveLease {
            owner: holder.owner,
            token: holder.token?,
            expires: holder.expires,
            label: holder.label.clone(),
        })
    }

    /// Sets the lease of the only holder in [`Mode::Exclusive`], or adds that holder to a state without holders. A
    /// backend can so keep this lease in columns, and renew it without a change of the rest of the state.
    pub fn set_exclusive_lease(&mut self, lease: ExclusiveLease) {
        if let Some(holder) = self.holder(lease.owner) {
            (holder.token, holder.expires) = (Some(lease.token), lease.expires);
        } else {
            self.holders.push(Holder {
                owner: lease.owner,
                mode: Mode::Exclusive,
                expires: lease.expires,
                token: Some(lease.token),
                downgraded: false,
                secret: None,
                label: lease.label,
            });
        }
    }

    /// Returns whether the state consists of [`exclusive_lease`](Self::exclusive_lease) and nothing else.
    #[must_use]
    pub fn is_exclusive_lease(&self) -> bool {
        let others = self.queue.len() > 0 || self.recorded.is_some();
        let handed_over = self.holders.iter().any(|h| h.secret.is_some());
        self.exclusive_lease().is_some() && !others && !handed_over
    }
}
