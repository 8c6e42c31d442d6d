use std::time::Duration;

use tokio_util::task::TaskTracker;

use crate::OnLoss;
use crate::methods::Methods;
use crate::problem::Refusal;
use crate::source::Terms;

/// What happens to a request whose client has gone.
///
/// Whoever drops the request's future is such a client to this layer: the server whose connection has ended, and a layer
/// outside of this one as well, a time limit above all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnDisconnect {
    /// Its handler is dropped where it awaits, as without this layer, and the lock is released.
    ///
    /// What the handler has sent by then may still be carried out: a statement that a database has got is not called back,
    /// and commits beside the next holder. Where handlers write, fence the writes in a transaction that claims first
    /// (`Fence::begin` of `leasehold-sqlx`), or let them [finish](Self::Finish).
    #[default]
    Cancel,
    /// Once it has its lock, its handler is finished in a task of its own, under the lock. A request that still waits
    /// gives up.
    ///
    /// **It needs an end of its own.** A time limit outside of this layer answers the client, and ends nothing here: a handler
    /// that hangs has its lock for ever, and is waited for. Set [`max_hold`](crate::LockLayer::max_hold), which drops it
    /// (with [`OnLoss::Continue`] it only frees the lock), or put a time limit inside of this layer.
    ///
    /// A server that shuts down waits for its connections, and not for these tasks: await
    /// [`LockLayer::finished`](crate::LockLayer::finished) before [`LockManager::shutdown`](leasehold::LockManager::shutdown).
    /// What other layers have put into task-locals is not there.
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
    pub(super) terms: Terms,
    pub(super) until: Until,
    pub(super) on_loss: OnLoss,
    pub(super) on_disconnect: OnDisconnect,
    /// Those of handlers that are to be finished.
    pub(super) tasks: TaskTracker,
    pub(super) refusal: Refusal,
}
