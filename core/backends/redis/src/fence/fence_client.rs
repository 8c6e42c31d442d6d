//! The client of a fence store: the client of locks, with different limits.

use std::error::Error;
use std::time::Duration;

use redis::{Cmd, RedisError, Value};

use super::scripts;
use crate::client::ServerClient;
use crate::client::connector::Connector;
use crate::client::server_locator::ServerLocator;
use leasehold_core::backend::BackendError;

/// How long the server may take to reply.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(2);

/// The largest accepted reply, in bytes. One reply contains all replies of a pipeline.
const LARGEST_REPLY: usize = 64 * 1024 * 1024;

/// One server, and a connection to it. The client replaces a broken connection.
pub(super) struct FenceClient(ServerClient);

impl FenceClient {
    pub(super) fn new(endpoint: ServerLocator) -> Self {
        let connector = Connector::without_waiters(endpoint, scripts::load(), LARGEST_REPLY);
        Self(ServerClient::new(connector))
    }

    /// Returns the server's address.
    pub(super) fn address(&self) -> String {
        self.0.address()
    }

    /// Waits until a connection is open.
    pub(super) async fn connect(&self) -> Result<(), BackendError> {
        self.0.ready().await
    }

    /// Sends a command once, without a retry.
    pub(super) async fn call(&self, command: &Cmd) -> Result<Value, BackendError> {
        self.0.call_within(COMMAND_TIMEOUT, command).await
    }

    /// Sends a command, and retries it once on a new connection if the old connection has broken.
    pub(super) async fn call_at_most_twice(&self, command: &Cmd) -> Result<Value, BackendError> {
        let was_connected = self.0.is_connected();
        match self.call(command).await {
            Err(error) if was_connected && is_of_the_connection(&error) => self.call(command).await,
            answer => answer,
        }
    }
}

fn is_of_the_connection(error: &BackendError) -> bool {
    let cause = error.source().and_then(|it| it.downcast_ref());
    cause.is_some_and(RedisError::is_unrecoverable_error)
}
