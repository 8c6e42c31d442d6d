use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use leasehold_core::FenceStore;

use super::ordered_admission::Lines;
use crate::methods::Methods;
use crate::problem::Refusal;

/// The shared state of the services of a layer.
#[derive(Clone)]
pub(super) struct Gate {
    pub(super) store: Arc<dyn FenceStore>,
    pub(super) lines: Lines,
    pub(super) methods: Methods,
    pub(super) queue_timeout: Duration,
    pub(super) token_lead: Duration,
    pub(super) refusal: Refusal,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate")
            .field("store", &self.store)
            .field("methods", &self.methods)
            .field("queue_timeout", &self.queue_timeout)
            .field("token_lead", &self.token_lead)
            .finish_non_exhaustive()
    }
}
