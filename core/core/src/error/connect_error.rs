//! The error of connecting to a backend.

use std::error::Error;
use std::fmt;

use super::Applied;
use super::{BackendError, WithCauses};
use crate::InvalidOption;

/// Connecting to a backend failed. The message contains all causes, so [`Error::source`] returns none. To examine a cause,
/// use the field `source`.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConnectError {
    /// This build has no backend for the URL's scheme.
    UnknownScheme {
        /// The scheme of the URL.
        scheme: String,
    },
    /// The URL needs a feature that this build does not have.
    MissingFeature {
        /// The feature of the crate `leasehold`.
        feature: &'static str,
    },
    /// The URL is invalid, or names something that cannot store locks.
    Url {
        /// The problem.
        source: Box<dyn Error + Send + Sync>,
    },
    /// The server did not respond, or refused the connection.
    Server {
        /// The server's address: `host:port`, with commas between several, or the path of a socket.
        address: String,
        /// The cause, and the remedy.
        source: BackendError,
    },
    /// Certificates or a private key for TLS are invalid or missing.
    Certificates {
        /// The problem, and the remedy.
        source: Box<dyn Error + Send + Sync>,
    },
    /// An option is invalid.
    Option {
        /// The problem.
        source: InvalidOption,
    },
    /// Fewer nodes than a majority can be reached.
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
    NotIndependent {
        /// The address of the first node.
        one: String,
        /// The address of the second node.
        other: String,
    },
    /// The server's version is too old for the scripts.
    TooOld {
        /// The server's address: `host:port`, or the path of a socket.
        address: String,
        /// The server's version.
        version: String,
        /// The oldest supported version.
        least: String,
    },
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownScheme { scheme } => write!(
                f,
                "`{scheme}://` is not supported by this build; use redis://, redis+sentinel://, redis+cluster://, \
                 redlock://, unix://, zookeeper://, zookeeper+tls://, sqlite:, postgres:// or mysql://, and enable its \
                 feature"
            ),
            Self::MissingFeature { feature } => write!(
                f,
                "the URL needs a feature that this build does not have: enable the feature `{feature}` of leasehold"
            ),
            Self::Url { source } => {
                write!(f, "the URL cannot be used: {}", WithCauses(&**source))
            }
            Self::Server { address, source } => {
                write!(f, "connecting to {address} failed: {}", WithCauses(source))
            }
            Self::Certificates { source } => {
                write!(f, "the certificates are invalid: {}", WithCauses(&**source))
            }
            Self::Option { source } => write!(f, "an option is invalid: {source}"),
            Self::NoQuorum {
                reached,
                needed,
                nodes,
                source,
            } => write!(
                f,
                "connected to {reached} of {nodes} nodes, but {needed} are needed: {}",
                WithCauses(source)
            ),
            Self::NotIndependent { one, other } => write!(
                f,
                "the nodes {one} and {other} are one server, which would have two votes; use independent servers"
            ),
            Self::TooOld {
                address,
                version,
                least,
            } => write!(
                f,
                "the server at {address} has version `{version}`; {least} or later is needed"
            ),
        }
    }
}

// The message contains the causes, so `source` returns none of them.
impl Error for ConnectError {}

impl From<InvalidOption> for ConnectError {
    fn from(source: InvalidOption) -> Self {
        Self::Option { source }
    }
}

impl ConnectError {
    /// Returns whether the same connect may succeed later: the server could not be reached, was starting, or had no free
    /// connection.
    #[must_use]
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Server { source, .. } | Self::NoQuorum { source, .. } => source.is_temporary(),
            _ => false,
        }
    }

    /// Creates the error of an invalid URL. The source must not contain the URL, which may contain a password.
    pub fn url(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Url {
            source: source.into(),
        }
    }

    /// Creates the error of invalid certificates.
    pub fn certificates(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Certificates {
            source: source.into(),
        }
    }

    /// Creates the error of a server that did not respond, or refused the connection.
    pub fn server(address: impl Into<String>, source: BackendError) -> Self {
        Self::Server {
            address: address.into(),
            // No lock was requested yet, even if the failed command may have been applied.
            source: source.with_applied(Applied::No),
        }
    }
}
