//! Connecting to a server, and finding out who it is.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redis::AsyncConnectionConfig;
use redis::aio::MultiplexedConnection;

use super::address::{Address, Found};
use super::admission::Admission;
use super::dial::Opened;
use super::ear::{Ear, Health};
use super::failure::{failure, reply_too_large};
use super::inbox::Inbox;
use super::live::{Live, Slot};
use super::script::{self, Library};
use super::synced::Desks;
use super::times::CONNECT_TIMEOUT;
use super::warning;
use crate::backend::BackendError;
#[cfg(feature = "sentinel")]
use crate::runtime::Runtime;
use crate::runtime::timeout;

/// How many commands may queue before their senders wait.
const QUEUE: usize = 1024;

/// The way to one server.
pub(super) struct Door {
    pub(super) address: Address,
    /// Who may be a server of this node, if that matters: no other is asked for a lock.
    pub(super) admission: Option<Admission>,
    /// Where the connection is put.
    pub(super) slot: Slot,
    inbox: Inbox,
    scripts: Library,
    was_connected: AtomicBool,
}

impl Door {
    pub(super) fn new(address: impl Into<Address>, inbox: Inbox, scripts: Library) -> Self {
        Self {
            address: address.into(),
            admission: None,
            slot: Slot::default(),
            inbox,
            scripts,
            was_connected: AtomicBool::new(false),
        }
    }

    /// Connects, unless that was done meanwhile.
    pub(super) async fn open(&self) -> Result<Arc<Live>, BackendError> {
        if let Some(live) = self.slot.live() {
            return Ok(live);
        }
        let live = in_time(self.connect()).await?;
        live.health.used();
        self.slot.put(&live);
        if self.was_connected.swap(true, Ordering::AcqRel) {
            self.inbox.interruption();
        }
        Ok(live)
    }

    pub(super) async fn load_scripts(
        &self,
        mut connection: MultiplexedConnection,
    ) -> Result<(), BackendError> {
        let loaded = script::load(self.scripts).exec_async(&mut connection).await;
        loaded.map_err(failure)
    }

    async fn connect(&self) -> Result<Arc<Live>, BackendError> {
        let found = self.address.find().await?;
        let health = Arc::default();
        let config = AsyncConnectionConfig::new()
            // Every command is bounded by the manager, which knows what it is worth waiting for.
            .set_response_timeout(None)
            .set_pipeline_buffer_size(QUEUE)
            .set_push_sender(Ear::new(self.inbox.clone(), &health));
        let connecting = found.open(config);
        let opened = connecting.await.map_err(|e| found.unconnected(e))?;
        let reading = opened.reading.clone();
        let greeted = self.greet(&found, opened, health).await;
        let live = greeted.map_err(|error| reading.too_large().map_or(error, reply_too_large))?;
        #[cfg(feature = "sentinel")]
        self.watch(found, &live);
        Ok(live)
    }

    /// Finds out whom a new connection leads to, and prepares it.
    async fn greet(
        &self,
        found: &Found,
        opened: Opened,
        health: Arc<Health>,
    ) -> Result<Arc<Live>, BackendError> {
        let mut connection = opened.connection.clone();
        self.address.check(&mut connection).await?;
        if let Some(admission) = &self.admission
            && let Err(kept_out) = admission.ask(&mut connection).await
        {
            // What it refuses for good it will refuse when its time has come, too: age is not what is wrong with it.
            return match self.load_scripts(connection).await {
                Err(refused) if !refused.is_temporary() => Err(refused),
                _ => Err(kept_out),
            };
        }
        self.load_scripts(connection.clone()).await?;
        if !self.inbox.is_sharded()
            && let Err(error) = connection.subscribe(&*self.inbox.channel()).await
        {
            // Without wake-ups waiters poll.
            warning::no_wake_ups(&failure(error));
        }
        let desks = Desks::new(found.client.clone());
        let live = Live::new(opened, health, desks, found.place());
        Ok(Arc::new(live))
    }

    /// Leaves the server as soon as a Sentinel tells of another. A connection to a primary that is cut off from the
    /// Sentinels breaks late, and one to a primary that comes back never.
    #[cfg(feature = "sentinel")]
    fn watch(&self, found: Found, live: &Arc<Live>) {
        let (Address::Sentinels(sentinels), Some(primary), Some(runtime)) =
            (&self.address, found.primary, Runtime::current())
        else {
            return;
        };
        let (sentinels, inbox) = (sentinels.clone(), self.inbox.clone());
        let leave = self.slot.leave_later(live);
        let task = runtime.spawn(async move {
            sentinels.moved(&primary).await;
            leave();
            inbox.interruption();
        });
        live.ends(task.abort_handle());
    }
}

/// A server that accepts connections and then says nothing must not keep anybody for ever.
pub(super) async fn in_time<T>(
    answer: impl Future<Output = Result<T, BackendError>>,
) -> Result<T, BackendError> {
    let Some(answer) = timeout(CONNECT_TIMEOUT, answer) else {
        let refusal = "a connection can only be made inside a tokio runtime; enter one first";
        return Err(BackendError::not_applied(refusal).permanent());
    };
    answer.await.unwrap_or_else(|_elapsed| {
        let silent = format!("the server did not answer within {CONNECT_TIMEOUT:?}");
        Err(BackendError::not_applied(silent))
    })
}
