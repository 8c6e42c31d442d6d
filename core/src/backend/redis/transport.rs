//! Connections over a network that is not the operating system's: the door for simulations.

use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisError, RedisResult};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::AbortHandle;

use super::live::Live;
use crate::runtime::{Runtime, timeout};

/// A connection to the server.
///
/// **Unstable**: for the simulation of this workspace alone, and no part of what is promised.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin + 'static> Stream for S {}

/// A connection under way.
pub type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>>;

/// Opens a connection to the server.
type Connector = dyn Fn() -> Connecting + Send + Sync;

/// How a simulated server is reached.
#[derive(Clone)]
pub(super) struct Transport {
    connector: Arc<Connector>,
    client: redis::Client,
    /// What carries the connection that was opened last.
    driver: Arc<OnceLock<AbortHandle>>,
}

impl Transport {
    /// `client` has the settings of the connection; where it points to is of no account.
    pub(super) fn new(
        client: redis::Client,
        connector: impl Fn() -> Connecting + Send + Sync + 'static,
    ) -> Self {
        Self {
            connector: Arc::new(connector),
            client,
            driver: Arc::default(),
        }
    }

    /// The settings of its connections.
    pub(super) fn client(&self) -> redis::Client {
        self.client.clone()
    }

    /// For one connection.
    pub(super) fn anew(&self) -> Self {
        Self {
            driver: Arc::default(),
            ..self.clone()
        }
    }

    pub(super) async fn open(
        &self,
        config: &AsyncConnectionConfig,
        within: Duration,
    ) -> RedisResult<MultiplexedConnection> {
        let opening = timeout(within, self.connect(config)).ok_or_else(late)?;
        opening.await.map_err(|_elapsed| late())?
    }

    async fn connect(&self, config: &AsyncConnectionConfig) -> RedisResult<MultiplexedConnection> {
        let stream = (self.connector)().await?;
        let settings = self.client.get_connection_info().redis_settings();
        let config = config.clone();
        let opened = MultiplexedConnection::new_with_config(settings, stream, config).await;
        let (connection, driver) = opened?;
        let runtime = Runtime::current().ok_or_else(late)?;
        let driver = runtime.spawn(driver);
        self.driver.get_or_init(|| driver.abort_handle());
        Ok(connection)
    }

    /// Ends what carries the connection with it, as the `redis` crate does with connections of its own.
    pub(super) fn ends_with(&self, live: &Live) {
        if let Some(driver) = self.driver.get() {
            live.ends(driver.clone());
        }
    }
}

fn late() -> RedisError {
    RedisError::from((ErrorKind::Io, "the simulated server did not answer in time"))
}

impl fmt::Debug for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transport").finish_non_exhaustive()
    }
}
