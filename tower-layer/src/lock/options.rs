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
    /// that hangs is dropped when [`max_hold`](crate::LockLayer::max_hold) is over, after 60 s unless told otherwise. With
    /// [`OnLoss::Continue`] that only frees the lock: put a time limit inside of this layer.
    ///
    /// A server that shuts down waits for its connections, and not for these tasks: await
    /// [`LockLayer::finished`](crate::LockLayer::finished) before [`LockManager::shutdown`](leasehold::LockManager::shutdown).
    /// What other layers have put into task-locals is not there.
    Finish,
}

/// The longest time that a request may have its lock, where nobody says otherwise: 60 s.
pub const DEFAULT_MAX_HOLD: Duration = Duration::from_secs(60);

/// The longest time that a lock is held.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum MaxHold {
    /// The manager's; if it has none, ours.
    #[default]
    Unsaid,
    Most(Duration),
    AsManager,
}

impl MaxHold {
    /// What the layer says itself. A body has its own time, which comes on top of the handler's.
    pub(super) fn of_layer(self, manager: Option<Duration>, until: Until) -> Option<Duration> {
        match (self, manager, until) {
            (Self::Most(most), _, _) => Some(most),
            (Self::AsManager, _, _) | (Self::Unsaid, Some(_), _) => None,
            (Self::Unsaid, None, Until::Response) => Some(DEFAULT_MAX_HOLD),
            (Self::Unsaid, None, Until::BodyEnd { most }) => {
                Some(DEFAULT_MAX_HOLD.saturating_add(most))
            }
        }
    }
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
    pub(super) max_hold: MaxHold,
    pub(super) until: Until,
    pub(super) on_loss: OnLoss,
    pub(super) on_disconnect: OnDisconnect,
    /// Those of handlers that are to be finished.
    pub(super) tasks: TaskTracker,
    pub(super) refusal: Refusal,
}
