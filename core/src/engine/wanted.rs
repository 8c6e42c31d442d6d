use super::Patience;
use crate::backend::{Attempt, Mode};
use crate::options::LockOptions;
use crate::{Key, OwnerId};

/// What an acquire is for, over all its attempts.
#[derive(Debug, Clone)]
pub(crate) struct Wanted {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
    pub(crate) giver: Option<OwnerId>,
}

impl Wanted {
    pub(crate) fn exclusively(key: Key) -> Self {
        Self {
            key,
            mode: Mode::Exclusive,
            giver: None,
        }
    }

    /// `owner` is nobody else's.
    pub(super) fn attempt(
        &self,
        owner: OwnerId,
        options: &LockOptions,
        patience: Patience,
    ) -> Attempt {
        let queue = patience == Patience::Wait;
        Attempt::by(owner, self.key.clone(), options.ttl, queue)
            .in_mode(self.mode)
            .taking_up_from(self.giver)
    }
}
