//! What a connection finds and can live with.

use tracing::warn;

use crate::backend::BackendError;

pub(super) fn no_wake_ups(error: &BackendError) {
    warn!(
        name: "leasehold.no_wake_ups",
        {
            error = error as &dyn std::error::Error,
        },
        "the server lets nobody be woken; waiters poll"
    );
}

pub(super) fn evicting_server(policy: &str) {
    warn!(
        name: "leasehold.evicting_server",
        {
            policy = policy,
        },
        "the server may evict locks when its memory is full; set maxmemory-policy to noeviction"
    );
}
