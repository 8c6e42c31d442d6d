//! The client of one server: sends scripts and commands, and reconnects.

pub(crate) mod connector;
pub(crate) mod server_locator;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, ErrorKind, Pipeline, RedisError, ServerErrorKind, Value};

use super::error::{failure, is_readonly, unsent};
use super::time_limits::{CONNECT_TIMEOUT, READ_ONLY_FOR};
use crate::connection::shared_connection::{Connection, ExchangeGuard, ServerNumber};
use crate::connection::wait_command_connections::{Acknowledged, ReplicaRequirement, WaitError};
use crate::sentinel::Sentinels;
use connector::{Connector, in_time};
use leasehold_core::backend::BackendError;
use leasehold_core::backend::support::SingleFlight;
use leasehold_core::backend::support::runtime::timeout;

/// Options of one command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SendOptions {
    /// The channel of the key, on which the server notifies the sender after this command.
    pub(crate) listening: bool,
    /// The replicas to wait for.
    pub(crate) synced: Option<ReplicaRequirement>,
}

/// One server, and a connection to that server. The client replaces a broken connection.
pub(crate) struct ServerClient {
    connector: Arc<Connector>,
    connecting: SingleFlight<Arc<Connection>>,
}

impl ServerClient {
    pub(crate) fn new(connector: Connector) -> Self {
        Self {
            connector: Arc::new(connector),
            connecting: SingleFlight::default(),
        }
    }

    /// Returns the Sentinels that report the server.
    pub(crate) fn sentinels(&self) -> Option<&Sentinels> {
        self.connector.address.sentinels()
    }

    /// Sends a command, and sends it again if the server has forgotten our scripts. Waits for replicas if the options
    /// require it.
    pub(crate) async fn send(
        &self,
        command: &Cmd,
        synced: Option<ReplicaRequirement>,
    ) -> Result<Acknowledged<Value>, BackendError> {
        if let Some(synced) = synced {
            // Few requests need this future, and the box keeps the futures of the other requests small.
            return Box::pin(self.send_synced(command, synced)).await;
        }
        let live = self.live().await?;
        let mut is_loaded = false;
        loop {
            let listening = ExchangeGuard::to(&self.connector.slot, &live);
            let mut connection = live.connection.clone();
            let sent = pin!(connection.send_packed_command(command));
            let answer = live.drive_until(sent).await;
            listening.heard(answer.as_ref().err());
            let answer = answer.and_then(Value::extract_error);
            self.leave_replica(&live, [&answer]);
            match answer {
                Err(error) if is_noscript(&error) && !is_loaded => {
                    Box::pin(self.load_scripts(&live)).await?;
                    is_loaded = true;
                }
                answer => return answer.map(Acknowledged::unacknowledged).map_err(failure),
            }
        }
    }

    async fn send_synced(
        &self,
        command: &Cmd,
        synced: ReplicaRequirement,
    ) -> Result<Acknowledged<Value>, BackendError> {
        let mut commands = Pipeline::with_capacity(1);
        commands.add_command(command.clone());
        let sent = self.send_all(&commands, 1, Some(synced)).await?;
        let silent = || {
            Err(BackendError::unknown(
                "the server did not reply to this command",
            ))
        };
        sent.each().next().unwrap_or_else(silent)
    }

    /// Works like [`send`](Self::send), without replicas.
    pub(crate) async fn call(&self, command: &Cmd) -> Result<Value, BackendError> {
        Ok(self.send(command, None).await?.answer)
    }

    /// Works like [`call`](Self::call), with the time limit of a connect, for callers without the time limit of a
    /// manager.
    pub(crate) async fn call_in_time(&self, command: &Cmd) -> Result<Value, BackendError> {
        in_time(self.call(command)).await
    }

    /// Works like [`call`](Self::call), for callers without the time limit of a manager. Drops the connection if no
    /// reply arrives within `limit`. Connecting has a separate limit.
    pub(crate) async fn call_within(
        &self,
        limit: Duration,
        command: &Cmd,
    ) -> Result<Value, BackendError> {
        let live = self.live().await?;
        let answer =
            timeout(limit, self.call(command)).ok_or_else(BackendError::outside_a_runtime)?;
        answer.await.unwrap_or_else(|_elapsed| {
            self.connector.slot.discard(&live);
            let silent = "the server did not reply in time";
            Err(BackendError::unknown(silent))
        })
    }

    /// Sends several commands concurrently. Returns a reply for each command, in order. If `synced` requires replicas,
    /// uses a separate connection, and also returns how many replicas acknowledged the commands.
    pub(crate) async fn send_all(
        &self,
        commands: &Pipeline,
        count: usize,
        synced: Option<ReplicaRequirement>,
    ) -> Result<Acknowledged<Vec<Result<Value, BackendError>>>, BackendError> {
        let live = self.live().await?;
        let mut sent = self.exchange(&live, commands, count, synced).await?;
        let mut answers = sent.answer.iter();
        if answers.any(|it| it.as_ref().is_err_and(is_noscript)) {
            Box::pin(self.load_scripts(&live)).await?;
            sent = self.exchange(&live, commands, count, synced).await?;
        }
        let answers = sent.answer.into_iter();
        Ok(Acknowledged {
            answer: answers.map(|it| it.map_err(failure)).collect(),
            acknowledged: sent.acknowledged,
        })
    }

    /// Returns the server's address.
    pub(crate) fn address(&self) -> String {
        self.connector.address.to_string()
    }

    /// Returns the connected server. Returns `None` without a connection, and for a server that never changes.
    pub(crate) fn place(&self) -> Option<ServerNumber> {
        self.current().and_then(|live| live.place)
    }

    /// Returns whether another server may replace this server.
    pub(crate) fn may_move(&self) -> bool {
        self.connector.address.may_move()
    }

    pub(crate) fn is_connected(&self) -> bool {
        self.current().is_some()
    }

    pub(crate) fn close(&self) {
        self.connector.slot.empty();
    }

    /// Waits until there is a connection.
    pub(crate) async fn ready(&self) -> Result<(), BackendError> {
        self.live().await.map(drop)
    }

    /// Requests a probe of the connection, because a reply is missing.
    pub(crate) fn suspect(&self) {
        if let Some(live) = self.current() {
            self.connector.slot.suspect(&live);
        }
    }

    async fn exchange(
        &self,
        live: &Arc<Connection>,
        commands: &Pipeline,
        count: usize,
        synced: Option<ReplicaRequirement>,
    ) -> Result<Acknowledged<Vec<Result<Value, RedisError>>>, BackendError> {
        let listening = ExchangeGuard::to(&self.connector.slot, live);
        let sent = match synced {
            Some(synced) => {
                let exchange = live
                    .wait_pool
                    .exchange(commands, count, synced, CONNECT_TIMEOUT);
                // Few requests need this future, and the box keeps the futures of the other requests small. After an
                // error of the connection for `WAIT`, dropping the guard probes this connection.
                let sent = Box::pin(exchange).await.map_err(|error| match error {
                    WaitError::Unsent(error) => unsent(failure(error)),
                    WaitError::Sent(error) => {
                        let message = "it is unknown whether the replicas have it";
                        BackendError::unknown(message).with_source(failure(error))
                    }
                })?;
                listening.heard(None);
                sent
            }
            None => {
                let mut connection = live.connection.clone();
                let sent = pin!(connection.send_packed_commands(commands, 0, count));
                let answers = live.drive_until(sent).await;
                listening.heard(answers.as_ref().err());
                Acknowledged::unacknowledged(answers.map_err(failure)?)
            }
        };
        let answers = sent.answer.into_iter();
        let answer: Vec<_> = answers.map(Value::extract_error).collect();
        self.leave_replica(live, &answer);
        Ok(Acknowledged {
            answer,
            acknowledged: sent.acknowledged,
        })
    }

    /// Closes the connection to a primary that has become a replica, because its address may now lead to the new
    /// primary. If the address cannot lead to another server, this keeps the connection for at least [`READ_ONLY_FOR`],
    /// so that the client does not reconnect continuously.
    fn leave_replica<'a>(
        &self,
        live: &Arc<Connection>,
        answers: impl IntoIterator<Item = &'a Result<Value, RedisError>>,
    ) {
        let mut answers = answers.into_iter();
        let may_be_elsewhere =
            || self.connector.address.may_move() || live.since.after(READ_ONLY_FOR).has_passed();
        if answers.any(|a| a.as_ref().is_err_and(is_readonly)) && may_be_elsewhere() {
            self.connector.slot.discard(live);
        }
    }

    async fn load_scripts(&self, live: &Arc<Connection>) -> Result<(), BackendError> {
        self.connector.load_scripts(live.connection.clone()).await
    }

    async fn live(&self) -> Result<Arc<Connection>, BackendError> {
        if let Some(live) = self.current() {
            return Ok(live);
        }
        let connector = Arc::clone(&self.connector);
        // A box for this rare path keeps each request's future small.
        Box::pin(self.connecting.join(async move || connector.open().await)).await
    }

    fn current(&self) -> Option<Arc<Connection>> {
        self.connector.slot.live()
    }
}

fn is_noscript(error: &RedisError) -> bool {
    error.kind() == ErrorKind::Server(ServerErrorKind::NoScript)
}

impl fmt::Debug for ServerClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Omits the connection's settings, which contain a password.
        f.debug_struct("ServerClient")
            .field("connected", &self.current().is_some())
            .finish_non_exhaustive()
    }
}
