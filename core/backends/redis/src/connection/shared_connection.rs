//! One connection for many callers, and the probe that detects a broken connection.

use std::io;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::TryFutureExt;
use futures_util::future::Either;
use parking_lot::Mutex;
use redis::aio::MultiplexedConnection;
use redis::{RedisError, RedisResult};
use tokio::task::JoinHandle;
use tokio_util::task::AbortOnDropHandle;

use super::bounded_stream::Reading;
use super::caller_driven::Driver;
use super::push_messages::ConnectionState;
use super::transport::OpenConnection;
use super::wait_command_connections::WaitCommandPool;
use leasehold_core::backend::support::clock::LeaseInstant;
use leasehold_core::backend::support::runtime::{Runtime, timeout};

/// The time without a reply to a PING after which a connection counts as broken. Without the PING, the client would not
/// notice lost packets.
const SILENCE: Duration = Duration::from_secs(1);

/// Contains the current connection of all callers.
#[derive(Clone, Default)]
pub(crate) struct ConnectionCell(Arc<Mutex<Option<Arc<Connection>>>>);

/// Identifies a server by its address, as the locator returned it.
pub(crate) type ServerNumber = u64;

pub(crate) struct Connection {
    pub(crate) connection: MultiplexedConnection,
    /// `None` if a task of the `redis` crate drives the connection.
    driver: Option<Driver>,
    reading: Reading,
    pub(crate) health: Arc<ConnectionState>,
    pub(crate) since: LeaseInstant,
    /// The server of the connection; `None` if the server never changes.
    pub(crate) place: Option<ServerNumber>,
    suspected: AtomicBool,
    pub(crate) wait_pool: WaitCommandPool,
    /// The task that listens to the Sentinels.
    companion: OnceLock<AbortOnDropHandle<()>>,
}

impl Connection {
    pub(crate) fn new(
        opened: OpenConnection,
        health: Arc<ConnectionState>,
        wait_pool: WaitCommandPool,
        place: Option<ServerNumber>,
    ) -> Self {
        let OpenConnection {
            connection,
            driver,
            reading,
        } = opened;
        Self {
            connection,
            driver,
            reading,
            health,
            since: LeaseInstant::now(),
            place,
            suspected: AtomicBool::new(false),
            wait_pool,
            companion: OnceLock::new(),
        }
    }

    /// Waits for a reply of this connection.
    pub(crate) fn drive_until<'a, T>(
        &'a self,
        answer: Pin<&'a mut impl Future<Output = RedisResult<T>>>,
    ) -> impl Future<Output = RedisResult<T>> {
        let driven = match &self.driver {
            Some(driver) => Either::Left(driver.drive_until(answer)),
            None => Either::Right(answer),
        };
        driven.map_err(|error| match self.reading.too_large() {
            Some(too_large) if error.is_unrecoverable_error() => io::Error::from(too_large).into(),
            _ => error,
        })
    }

    /// Aborts a task when this connection ends.
    pub(crate) fn ends(&self, task: JoinHandle<()>) {
        self.companion.get_or_init(|| AbortOnDropHandle::new(task));
    }
}

impl ConnectionCell {
    /// Returns the connection, or `None` if the connection has ended. Without a connection the client has definitely
    /// not sent the request.
    pub(crate) fn live(&self) -> Option<Arc<Connection>> {
        let live = self.0.lock().clone();
        live.filter(|live| !live.health.is_over())
    }

    pub(crate) fn put(&self, live: &Arc<Connection>) {
        let earlier = self.0.lock().replace(Arc::clone(live));
        drop(earlier);
    }

    pub(crate) fn empty(&self) {
        let live = mem::take(&mut *self.0.lock());
        drop(live);
    }

    pub(crate) fn discard(&self, dead: &Arc<Connection>) {
        let mut live = self.0.lock();
        // The caller has another reference to the connection, so the connection is not dropped under the mutex.
        if live.as_ref().is_some_and(|live| Arc::ptr_eq(live, dead)) {
            *live = None;
        }
    }

    /// Returns a function that discards the connection. The function does not own the connection.
    pub(crate) fn leave_later(&self, live: &Arc<Connection>) -> impl FnOnce() + Send + 'static {
        let (slot, live) = (Arc::downgrade(&self.0), Arc::downgrade(live));
        move || {
            if let (Some(slot), Some(live)) = (slot.upgrade(), live.upgrade()) {
                Self(slot).discard(&live);
            }
        }
    }

    /// Probes a connection with a missing reply. Either the connection is broken, or its caller stopped waiting early.
    pub(crate) fn suspect(&self, live: &Arc<Connection>) {
        let Some(runtime) = Runtime::current() else {
            return self.discard(live);
        };
        if live.suspected.swap(true, Ordering::AcqRel) {
            return;
        }
        let probe = Probe {
            slot: self.clone(),
            live: Arc::clone(live),
            alive: false,
        };
        runtime.spawn_on_current(probe.run());
    }
}

/// Probes a suspected connection. If the runtime ends first, the connection counts as broken.
struct Probe {
    slot: ConnectionCell,
    live: Arc<Connection>,
    alive: bool,
}

impl Probe {
    async fn run(mut self) {
        let mut connection = self.live.connection.clone();
        let ping = redis::cmd("PING");
        if let Some(answer) = timeout(SILENCE, connection.send_packed_command(&ping)) {
            self.alive = answer.await.is_ok_and(|answer| answer.is_ok());
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.live.suspected.store(false, Ordering::Release);
        if !self.alive {
            self.slot.discard(&self.live);
        }
    }
}

/// Guards one exchange. An error of the connection discards the connection, and a missing reply causes a probe.
pub(crate) struct ExchangeGuard<'a> {
    slot: &'a ConnectionCell,
    live: &'a Arc<Connection>,
    heard: bool,
}

impl<'a> ExchangeGuard<'a> {
    pub(crate) fn to(slot: &'a ConnectionCell, live: &'a Arc<Connection>) -> Self {
        Self {
            slot,
            live,
            heard: false,
        }
    }

    pub(crate) fn heard(mut self, error: Option<&RedisError>) {
        self.heard = true;
        if error.is_some_and(RedisError::is_unrecoverable_error) {
            self.slot.discard(self.live);
        }
    }
}

impl Drop for ExchangeGuard<'_> {
    fn drop(&mut self) {
        if !self.heard {
            self.slot.suspect(self.live);
        }
    }
}
