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

    pub(super) fn attempt(&self, options: &LockOptions, queue: bool) -> Attempt {
        Attempt::new(self.key.clone(), options.ttl, queue)
            .in_mode(self.mode)
            .taking_up_from(self.giver)
    }
}
