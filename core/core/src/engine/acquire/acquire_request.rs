//! The parameters of an acquire.

use crate::Key;
use crate::backend::{Attempt, Handover, Mode};
use crate::engine::{BusyPolicy, Engine};
use crate::options::AcquireOptions;

/// The parameters of an acquire, for all its attempts.
#[derive(Debug, Clone)]
pub(crate) struct AcquireRequest {
    pub(crate) key: Key,
    pub(crate) mode: Mode,
    pub(crate) handover: Option<Box<Handover>>,
    /// Whether a recorded outcome ends the acquire.
    pub(crate) once: bool,
}

impl AcquireRequest {
    pub(crate) fn exclusively(key: Key) -> Self {
        Self {
            key,
            mode: Mode::Exclusive,
            handover: None,
            once: false,
        }
    }

    /// Creates an attempt with a new owner id.
    pub(crate) fn attempt(
        &self,
        engine: &Engine,
        options: &AcquireOptions,
        busy_policy: BusyPolicy,
    ) -> Attempt {
        let owner = engine.backend().attempt_id().labelled(Some(engine.label));
        let queue = busy_policy == BusyPolicy::Wait;
        let limit = engine.limits.command.min(options.ttl);
        Attempt::by(owner, self.key.clone(), options.lease_ttl(), queue)
            .in_mode(self.mode)
            .fair(options.fair)
            .taking_up(self.handover.clone())
            .answered_within(options.wait.map_or(limit, |wait| wait.min(limit)))
            // Also the first lease must last for `hold_at_least`, so the backend must not grant a shorter lease.
            .renewed(options.renewal && options.hold_at_least.is_none())
            .once(self.once)
            .named(options.name)
    }
}
