//! The error of connecting to a backend.

use std::error::Error;

#[cfg(any(feature = "redis", feature = "zookeeper"))]
use super::Applied;
use super::BackendError;
use crate::InvalidOption;

/// Connecting to a backend failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// This build has no backend for the URL's scheme.
    #[error(
        "`{scheme}://` is not supported by this build; use redis://, redis+sentinel://, redis+cluster://, redlock://, unix://, zookeeper://, zookeeper+tls://, sqlite:, postgres:// or mysql://, and enable its feature"
    )]
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The backend of the URL's scheme is in the crate `leasehold-sqlx`, and is not registered.
    #[error(
        "`{scheme}:` is not registered: add leasehold-sqlx with the features `backend` and `{feature}`, and call leasehold_sqlx::install_backends() first"
    )]
    NotInstalled {
        /// The scheme of the URL.
        scheme: String,
        /// The feature of `leasehold-sqlx` for the database.
        feature: &'static str,
    },
    /// The URL is invalid, or needs a feature that this build does not have.
    #[error(
        "the URL is invalid; it should look like redis://user:password@host:6379/0, zookeeper://a:2181,b:2181/locks, postgres://user:password@host/database or sqlite:locks.db"
    )]
    Url {
        /// The problem.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server did not respond, or refused the connection.
    #[error("cannot connect to {address}")]
    Server {
        /// The server's address: `host:port`, with commas between several, or the path of a socket.
        address: String,
        /// The cause, and the remedy.
        source: BackendError,
    },
    /// Certificates or a private key for TLS are invalid or missing.
    #[error("the certificates are invalid")]
    Certificates {
        /// The problem, and the remedy.
        source: Box<dyn Error + Send + Sync>,
    },
    /// An option is invalid.
    #[error("an option is invalid")]
    Option {
        /// The problem.
        #[from]
        source: InvalidOption,
    },
    /// Fewer nodes than a majority can be reached.
    #[error("connected to {reached} of {nodes} nodes, but {needed} are needed")]
    NoQuorum {
        /// The number of nodes that were reached.
        reached: usize,
        /// The required number of nodes: more than half.
        needed: usize,
        /// The number of all nodes.
        nodes: usize,
        /// The errors of the other nodes.
        source: BackendError,
    },
    /// Two nodes are the same server, which would have two votes.
    #[error(
        "the nodes {one} and {other} are one server, which would have two votes; use independent servers"
    )]
    NotIndependent {
        /// The address of the first node.
        one: String,
        /// The address of the second node.
        other: String,
    },
    /// The server's version is too old for the scripts.
    #[error("the server at {address} has version `{version}`; {least} or later is needed")]
    TooOld {
        /// The server's address: `host:port`, or the path of a socket.
        address: String,
        /// The server's version.
        version: String,
        /// The oldest supported version.
        least: String,
    },
}

impl ConnectError {
    pub(crate) fn url(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Url {
            source: source.into(),
        }
    }

    #[cfg(any(feature = "tls-rustls", feature = "zookeeper-tls"))]
    pub(crate) fn certificates(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Certificates {
            source: source.into(),
        }
    }

    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub(crate) fn server(address: impl Into<String>, source: BackendError) -> Self {
        Self::Server {
            address: address.into(),
            // No lock was requested yet, even if the failed command may have been applied.
            source: source.with_applied(Applied::No),
        }
    }
}
