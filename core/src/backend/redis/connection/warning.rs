//! Logs what a connection finds and can live with.

use crate::backend::BackendError;
use crate::named_event::event;

pub(crate) fn no_wake_ups(error: &BackendError) {
    event!(
        warn,
        "leasehold.no_wake_ups",
        { error = error as &dyn std::error::Error },
        "the server lets nobody be woken; waiters poll"
    );
}

pub(crate) fn evicting_server(policy: &str) {
    event!(
        warn,
        "leasehold.evicting_server",
        { policy = policy },
        "the server may evict locks when its memory is full; set maxmemory-policy to noeviction"
    );
}
