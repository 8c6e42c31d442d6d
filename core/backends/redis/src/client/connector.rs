//! Connects to a server and checks that it is usable.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Pipeline};

use super::server_locator::{Resolved, ServerLocator};
use crate::connection::push_messages::{ConnectionState, PushHandler, warn_of_no_wake_ups};
use crate::connection::shared_connection::{Connection, ConnectionCell};
use crate::connection::transport::{LARGEST_REPLY, OpenConnection};
use crate::connection::wait_command_connections::WaitCommandPool;
use crate::error::{failure, first_of, reply_too_large};
use crate::time_limits::CONNECT_TIMEOUT;
use crate::wait::waiter_registry::WaiterRegistry;
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::runtime::Runtime;
use leasehold_core::backend::support::runtime::timeout;

/// The maximum number of queued commands. Further senders wait.
const QUEUE: usize = 1024;

/// Returns an error if the server's `INFO` shows that clients must not use the server for locks.
pub(crate) type ServerCheck = Box<dyn Fn(&str) -> Result<(), BackendError> + Send + Sync>;

/// Opens connections to one server.
pub(crate) struct Connector {
    pub(crate) address: ServerLocator,
    /// Checks whether clients may use a server for locks. `None` allows every server.
    pub(crate) server_check: Option<ServerCheck>,
    /// Contains the current connection, if there is one.
    pub(crate) slot: ConnectionCell,
    /// The waiters that the connection notifies when a message for them arrives, and when the connection ends. A fence
    /// store does not have waiters.
    waiters: Option<WaiterRegistry>,
    /// The commands that load our scripts into the server.
    scripts: Arc<Pipeline>,
    /// The largest reply that the client accepts, in bytes.
    largest_reply: usize,
    was_connected: AtomicBool,
}

impl Connector {
    pub(crate) fn new(
        address: impl Into<ServerLocator>,
        waiters: WaiterRegistry,
        scripts: Arc<Pipeline>,
    ) -> Self {
        Self {
            waiters: Some(waiters),
            ..Self::without_waiters(address, scripts, LARGEST_REPLY)
        }
    }

    pub(crate) fn without_waiters(
        address: impl Into<ServerLocator>,
        scripts: Arc<Pipeline>,
        largest_reply: usize,
    ) -> Self {
        Self {
            address: address.into(),
            server_check: None,
            slot: ConnectionCell::default(),
            waiters: None,
            scripts,
            largest_reply,
            was_connected: AtomicBool::new(false),
        }
    }

    /// Connects, unless another caller has done so.
    pub(crate) async fn open(&self) -> Result<Arc<Connection>, BackendError> {
        if let Some(live) = self.slot.live() {
            return Ok(live);
        }
        let live = in_time(self.connect()).await?;
        live.health.used();
        self.slot.put(&live);
        if self.was_connected.swap(true, Ordering::AcqRel)
            && let Some(waiters) = &self.waiters
        {
            waiters.interruption();
        }
        Ok(live)
    }

    pub(crate) async fn load_scripts(
        &self,
        mut connection: MultiplexedConnection,
    ) -> Result<(), BackendError> {
        let loaded = self.scripts.exec_async(&mut connection).await;
        loaded.map_err(|refused| failure(first_of(refused)))
    }

    async fn connect(&self) -> Result<Arc<Connection>, BackendError> {
        let found = self.address.find().await?;
        let health = Arc::default();
        let config = AsyncConnectionConfig::new()
            // The manager limits the time of every command.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE)
            .set_push_sender(PushHandler::new(self.waiters.clone(), &health));
        let connecting = found.open(config, self.largest_reply);
        let opened = connecting.await.map_err(|e| found.unconnected(e))?;
        let reading = opened.reading.clone();
        let greeted = self.handshake(&found, opened, health).await;
        let live = greeted.map_err(|error| reading.too_large().map_or(error, reply_too_large))?;
        self.watch(found, &live);
        Ok(live)
    }

    /// Identifies the server of a new connection, and prepares it.
    async fn handshake(
        &self,
        found: &Resolved,
        opened: OpenConnection,
        health: Arc<ConnectionState>,
    ) -> Result<Arc<Connection>, BackendError> {
        let mut connection = opened.connection.clone();
        self.address.check(&mut connection).await?;
        if let Err(unfit) = self.check_server(&mut connection).await {
            // A server that permanently refuses our scripts stays unusable, and this error contains the reason.
            return match self.load_scripts(connection).await {
                Err(refused) if !refused.is_temporary() => Err(refused),
                _ => Err(unfit),
            };
        }
        self.load_scripts(connection.clone()).await?;
        if let Some(waiters) = self.waiters.as_ref().filter(|it| !it.is_sharded())
            && let Err(error) = connection.subscribe(&*waiters.channel()).await
        {
            // Without notifications waiters poll.
            warn_of_no_wake_ups(&failure(error));
        }
        let wait_pool = WaitCommandPool::new(found.target.clone());
        let live = Connection::new(opened, health, wait_pool, found.place());
        Ok(Arc::new(live))
    }

    async fn check_server(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), BackendError> {
        let Some(check) = &self.server_check else {
            return Ok(());
        };
        let info = redis::cmd("INFO");
        let info: String = info.query_async(connection).await.map_err(failure)?;
        check(&info)
    }

    /// Closes the connection as soon as a Sentinel reports another server. A connection to a primary without contact to
    /// the Sentinels may break late. If that primary reconnects to the Sentinels, the connection may never break.
    fn watch(&self, found: Resolved, live: &Arc<Connection>) {
        let (ServerLocator::Sentinels(sentinels), Some(primary), Some(runtime)) =
            (&self.address, found.primary, Runtime::current())
        else {
            return;
        };
        let (sentinels, waiters) = (sentinels.clone(), self.waiters.clone());
        let leave = self.slot.leave_later(live);
        let task = runtime.spawn(async move {
            sentinels.moved(&primary).await;
            leave();
            if let Some(waiters) = waiters {
                waiters.interruption();
            }
        });
        live.ends(task);
    }
}

/// Limits the time of a connect, so that a server that accepts connections but does not reply cannot block callers
/// forever.
pub(crate) async fn in_time<T>(
    answer: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let answer = timeout(CONNECT_TIMEOUT, answer).ok_or_else(BackendError::outside_a_runtime)?;
    answer.await.unwrap_or_else(|_elapsed| {
        let silent = format!(
            "the server did not reply within {CONNECT_TIMEOUT:?}; check the address, and whether the port uses TLS"
        );
        Err(BackendError::not_applied(silent))
    })
}
