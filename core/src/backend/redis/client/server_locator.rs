//! Where a server is: its URL, its Sentinels, or its place in a Cluster.

use std::fmt;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ConnectionInfo, RedisError, RedisResult, Value};

use crate::backend::redis::connection::shared_connection::ServerNumber;
#[cfg(feature = "simulation")]
use crate::backend::redis::connection::simulated_transport::SimulatedTransport;
use crate::backend::redis::connection::transport::{OpenConnection, Target};
use crate::backend::redis::error::{failure, unconnected};
#[cfg(feature = "sentinel")]
use crate::backend::redis::sentinel::{Primary, Sentinels};
use crate::backend::redis::timing::CONNECT_TIMEOUT;
use crate::backend::redis::url;
use crate::backend::{BackendError, ConnectError};

/// How a node finds its server.
pub(crate) enum ServerLocator {
    /// It is always the same.
    Fixed(Target),
    /// It is the primary that Sentinels name, and moves.
    #[cfg(feature = "sentinel")]
    Sentinels(Sentinels),
    /// It is in a simulation.
    #[cfg(feature = "simulation")]
    Simulated(SimulatedTransport),
}

/// A server that was found.
pub(crate) struct Resolved {
    pub(crate) target: Target,
    #[cfg(feature = "sentinel")]
    pub(crate) primary: Option<Primary>,
    #[cfg(feature = "simulation")]
    pub(crate) transport: Option<SimulatedTransport>,
}

impl From<Target> for ServerLocator {
    fn from(target: Target) -> Self {
        Self::Fixed(target)
    }
}

/// Without what is secret.
impl fmt::Display for ServerLocator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(target) => target.addr().fmt(f),
            #[cfg(feature = "sentinel")]
            Self::Sentinels(sentinels) => sentinels.fmt(f),
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => f.write_str("simulated"),
        }
    }
}

impl ServerLocator {
    /// The one server that `url` leads to, with `prepared` settings. A Cluster has many.
    pub(crate) fn at(
        url: &str,
        prepared: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        match scheme.split_once('+') {
            #[cfg(feature = "sentinel")]
            Some((_, "sentinel")) => Ok(Self::Sentinels(Sentinels::at(url, prepared)?)),
            #[cfg(not(feature = "sentinel"))]
            Some((_, "sentinel")) => Err(ConnectError::url(
                "Sentinel is not built in; enable the feature `sentinel`",
            )),
            _ => Ok(Self::Fixed(prepared(url::one(url)?)?)),
        }
    }

    #[cfg_attr(
        not(feature = "sentinel"),
        allow(clippy::unused_async, reason = "Sentinels are asked")
    )]
    pub(crate) async fn find(&self) -> Result<Resolved, BackendError> {
        match self {
            Self::Fixed(target) => Ok(Resolved {
                target: target.clone(),
                #[cfg(feature = "sentinel")]
                primary: None,
                #[cfg(feature = "simulation")]
                transport: None,
            }),
            #[cfg(feature = "sentinel")]
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
                #[cfg(feature = "sentinel")]
                primary: None,
                transport: Some(transport.clone()),
            }),
        }
    }

    /// Whether it may be elsewhere by now, if a server takes no writes.
    pub(crate) fn may_move(&self) -> bool {
        match self {
            Self::Fixed(_) => false,
            #[cfg(feature = "sentinel")]
            Self::Sentinels(_) => true,
            #[cfg(feature = "simulation")]
            Self::Simulated(_) => false,
        }
    }

    /// Refuses a server that is none of ours: who was a primary when it was named may be a replica now.
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
            "the server that the Sentinels name is no primary; a failover is under way",
        ))
    }
}

impl Resolved {
    /// Connects to it.
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

    /// Which server it is, of those that may be there.
    pub(crate) fn place(&self) -> Option<ServerNumber> {
        #[cfg(feature = "sentinel")]
        return self.primary.as_ref().map(Primary::place);
        #[cfg(not(feature = "sentinel"))]
        None
    }

    /// Why there is no connection to it.
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
