use std::time::Duration;

use crate::OnLoss;
use crate::methods::Methods;
use crate::problem::Refusal;

/// What happens to a request whose client has gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// Its handler is dropped where it awaits, as without this layer, and the lock is released.
    #[default]
    Cancel,
    /// Once it has its lock, its handler is finished in a task of its own, under the lock. A request that still waits
    /// gives up.
    Finish,
}

/// How long a lock is held.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Until {
    #[default]
    Response,
    BodyEnd {
        most: Duration,
    },
}

/// Beside whom a request is handled.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Beside {
    #[default]
    Nobody,
    Readers,
    /// So many at once.
    Others(u32),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Options {
    pub(super) beside: Beside,
    pub(super) methods: Methods,
    pub(super) ttl: Option<Duration>,
    /// Zero does not wait.
    pub(super) wait: Duration,
    pub(super) until: Until,
    pub(super) on_loss: OnLoss,
    pub(super) on_disconnect: OnDisconnect,
    pub(super) refusal: Refusal,
}
