//! Locates a server by its URL, by Sentinels, or in a Cluster.

use std::fmt;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionInfo, RedisError, RedisResult, Value};

use crate::connection::shared_connection::ServerNumber;
#[cfg(feature = "simulation")]
use crate::connection::simulated_transport::SimulatedTransport;
use crate::connection::transport::{OpenConnection, Target};
use crate::error::{failure, unconnected};
use crate::sentinel::{Primary, Sentinels};
use crate::time_limits::CONNECT_TIMEOUT;
use crate::url;
use leasehold_core::backend::{BackendError, ConnectError};

/// Locates the server of a node.
pub(crate) enum ServerLocator {
    /// Always the same server.
    Fixed(Target),
    /// The primary that Sentinels report, which can change.
    Sentinels(Sentinels),
    /// A simulated server.
    #[cfg(feature = "simulation")]
    Simulated(SimulatedTransport),
}

/// A located server.
pub(crate) struct Resolved {
    pub(crate) target: Target,
    pub(crate) primary: Option<Primary>,
    #[cfg(feature = "simulation")]
    pub(crate) transport: Option<SimulatedTransport>,
}

impl From<Target> for ServerLocator {
    fn from(target: Target) -> Self {
        Self::Fixed(target)
    }
}

/// Omits secrets.
impl fmt::Display for ServerLocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(target) => target.addr().fmt(f),
            Self::Sentinels(sentinels) => sentinels.fmt(f),
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => f.write_str("simulated"),
        }
    }
}

impl ServerLocator {
    /// Returns the locator for `url`. `prepared` adds our settings. `url` must not be the URL of a Cluster, which has
    /// many servers.
    pub(crate) fn at(
        url: &str,
        prepared: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        match scheme.split_once('+') {
            Some((_, "sentinel")) => Ok(Self::Sentinels(Sentinels::at(url, prepared)?)),
            _ => Ok(Self::Fixed(prepared(url::one(url)?)?)),
        }
    }

    pub(crate) async fn find(&self) -> Result<Resolved, BackendError> {
        match self {
            Self::Fixed(target) => Ok(Resolved {
                target: target.clone(),
                primary: None,
                #[cfg(feature = "simulation")]
                transport: None,
            }),
            Self::Sentinels(sentinels) => {
                let primary = sentinels.primary().await?;
                Ok(Resolved {
                    target: sentinels.target_of(&primary)?,
                    primary: Some(primary),
                    #[cfg(feature = "simulation")]
                    transport: None,
                })
            }
            #[cfg(feature = "simulation")]
            Self::Simulated(transport) => Ok(Resolved {
                target: transport.client().into(),
                primary: None,
                transport: Some(transport.clone()),
            }),
        }
    }

    /// Returns whether another server may have replaced a server that refuses writes.
    pub(crate) fn may_move(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            Self::Sentinels(_) => true,
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => false,
        }
    }

    /// Returns the Sentinels that report the server.
    pub(crate) fn sentinels(&self) -> Option<&Sentinels> {
        match self {
            Self::Sentinels(sentinels) => Some(sentinels),
            _ => None,
        }
    }

    /// Checks the server's role, because the reported primary may have become a replica.
    pub(crate) async fn check(
        &self,
        connection: &mut MultiplexedConnection,
    ) -> Result<(), BackendError> {
        if !self.may_move() {
            return Ok(());
        }
        let role = connection.send_packed_command(&redis::cmd("ROLE")).await;
        let role = role.and_then(Value::extract_error).map_err(failure)?;
        if is_primary(&role) {
            return Ok(());
        }
        Err(BackendError::not_applied(
            "the server that the Sentinels report is not a primary; a failover is in progress",
        ))
    }
}

impl Resolved {
    /// Connects to the server.
    pub(crate) async fn open(
        &self,
        config: AsyncConnectionConfig,
        largest_reply: usize,
    ) -> RedisResult<OpenConnection> {
        #[cfg(feature = "simulation")]
        if let Some(transport) = &self.transport {
            let dialled = transport.dial();
            return OpenConnection::over(
                dialled,
                self.target.client(),
                config,
                CONNECT_TIMEOUT,
                largest_reply,
            )
            .await;
        }
        OpenConnection::by(&self.target, config, CONNECT_TIMEOUT, largest_reply).await
    }

    /// Returns the identity of the located server, if there are several possible servers.
    pub(crate) fn place(&self) -> Option<ServerNumber> {
        self.primary.as_ref().map(Primary::place)
    }

    /// Returns the error of a failed connect.
    pub(crate) fn unconnected(&self, error: RedisError) -> BackendError {
        unconnected(self.target.addr(), error)
    }
}

fn is_primary(role: &Value) -> bool {
    let Value::Array(fields) = role else {
        return false;
    };
    match fields.first() {
        Some(Value::BulkString(name)) => name == b"master",
        _ => false,
    }
}
