use std::error::Error;

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
    #[error("the server cannot be used")]
    Server {
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
    /// The server's scripts cannot be relied on.
    #[error("the server has version `{version}`; {least} or later is needed")]
    TooOld {
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

    #[cfg(feature = "zookeeper-tls")]
    pub(crate) fn certificates(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Certificates {
            source: source.into(),
        }
    }

    #[cfg(any(feature = "redis", feature = "zookeeper"))]
    pub(crate) fn server(source: BackendError) -> Self {
        Self::Server { source }
    }
}
