//! How a fence store reaches its server: by its own connection or a backend's.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redis::{AsyncConnectionConfig, Client, RedisError};

use crate::backend::BackendError;
use crate::backend::redis::{OpenConnection, Target, unconnected, unsent};
use crate::clock::LeaseInstant;
use crate::runtime::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest reply that is taken, in bytes: all that a pipeline reads.
const LARGEST_REPLY: usize = 64 * 1024 * 1024;

/// The way to a server, and the connection that callers use.
pub(super) struct FenceClient {
    target: Target,
    live: Mutex<Option<Arc<LiveConnection>>>,
}

pub(super) struct LiveConnection {
    pub(super) opened: OpenConnection,
    pub(super) since: LeaseInstant,
}

impl FenceClient {
    pub(super) fn new(client: &Client) -> Result<Self, RedisError> {
        let info = client.get_connection_info().clone();
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        #[cfg(feature = "tls-rustls")]
        crate::backend::redis::choose_provider(info.addr());
        Ok(Self {
            target: Target::open(info.set_tcp_settings(tcp))?,
            live: Mutex::default(),
        })
    }

    pub(super) fn live(&self) -> Option<Arc<LiveConnection>> {
        self.live.lock().clone()
    }

    /// Connects, unless that was done meanwhile.
    pub(super) async fn open(&self) -> Result<Arc<LiveConnection>, BackendError> {
        if let Some(live) = self.live() {
            return Ok(live);
        }
        let settings = AsyncConnectionConfig::new().set_response_timeout(Some(COMMAND_TIMEOUT));
        let connect = OpenConnection::by(&self.target, settings, CONNECT_TIMEOUT, LARGEST_REPLY);
        let connected = bounded(CONNECT_TIMEOUT, connect).await.map_err(unsent)?;
        let to = self.target.addr();
        let live = Arc::new(LiveConnection {
            opened: connected.map_err(|e| unconnected(to, e))?,
            since: LeaseInstant::now(),
        });
        let earlier = self.live.lock().replace(Arc::clone(&live));
        drop(earlier);
        Ok(live)
    }

    /// Leaves a dead connection, or one to a server that is of no use any more. Whoever learns of it late must not end the
    /// one that came after it.
    pub(super) fn discard(&self, dead: &Arc<LiveConnection>) {
        let mut live = self.live.lock();
        // The caller has it, so that nothing ends here that is locked.
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, dead)) {
            *live = None;
        }
    }
}

pub(super) async fn bounded<F: Future>(
    limit: Duration,
    task: F,
) -> Result<F::Output, BackendError> {
    let Some(task) = timeout(limit, task) else {
        let told = "a fence can only be asked inside a tokio runtime; enter one first";
        return Err(BackendError::not_applied(told).permanent());
    };
    task.await
        .map_err(|_| BackendError::unknown("the server did not answer in time"))
}
