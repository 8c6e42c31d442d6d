//! The error of connecting to a backend.

use std::error::Error;

#[cfg(any(feature = "redis", feature = "zookeeper"))]
use super::Applied;
use super::BackendError;
use crate::InvalidOption;

/// Why there is no connection to a backend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No backend goes by that scheme.
    #[error(
        "`{scheme}://` is no backend of this build; use redis://, redis+sentinel://, redis+cluster://, redlock://, unix://, zookeeper:// or zookeeper+tls://, and enable its feature"
    )]
    UnknownScheme {
        /// What stood before `://`.
        scheme: String,
    },
    /// The URL cannot be read, or asks for what this build cannot do.
    #[error(
        "the URL cannot be used; it should look like redis://user:password@host:6379/0 or zookeeper://a:2181,b:2181/locks"
    )]
    Url {
        /// What is wrong with it.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server did not answer, or refused.
    #[error("the server at {address} cannot be used")]
    Server {
        /// Where it is: `host:port`, with commas between several, or the path of a socket.
        address: String,
        /// What it said, and what to do.
        source: BackendError,
    },
    /// Certificates or a private key for TLS cannot be used, or there are none.
    #[error("the certificates cannot be used")]
    Certificates {
        /// What is wrong with them, and what to do.
        source: Box<dyn Error + Send + Sync>,
    },
    /// An option cannot work.
    #[error("the option cannot be used")]
    Option {
        /// What is wrong with it.
        #[from]
        source: InvalidOption,
    },
    /// So few of several nodes can be used that they could not elect a holder.
    #[error("{reached} of {nodes} nodes can be used, and {needed} are needed")]
    NoQuorum {
        /// How many can be used.
        reached: usize,
        /// How many are needed: more than half.
        needed: usize,
        /// How many there are.
        nodes: usize,
        /// What the others said.
        source: BackendError,
    },
    /// Two of several nodes are one server, which would have two votes.
    #[error(
        "the nodes {one} and {other} are one server, which would vote twice; name independent servers"
    )]
    NotIndependent {
        /// The address of one of them.
        one: String,
        /// The address of the other.
        other: String,
    },
    /// The server's scripts cannot be relied on.
    #[error("the server at {address} has version `{version}`; {least} or later is needed")]
    TooOld {
        /// Where it is: `host:port`, or the path of a socket.
        address: String,
        /// What it says of itself.
        version: String,
        /// What it should be, at least.
        least: String,
    },
}

impl ConnectError {
    #[cfg(any(feature = "redis", feature = "zookeeper"))]
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
            // Whatever the failure says of its command: nobody has asked for a lock yet.
            source: source.with_applied(Applied::No),
        }
    }
}
