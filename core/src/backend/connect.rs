use std::error::Error;

use super::BackendError;

/// Why there is no connection to a backend.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No backend goes by that scheme.
    #[error(
        "`{scheme}://` is no backend of this build; use redis://, redis+sentinel://, redis+cluster:// or unix://"
    )]
    UnknownScheme {
        /// What stood before `://`.
        scheme: String,
    },
    /// The URL cannot be read, or asks for what this build cannot do.
    #[error("the URL cannot be used; it should look like redis://user:password@host:6379/0")]
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
    #[cfg(feature = "redis")]
    pub(super) fn url(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Url {
            source: source.into(),
        }
    }

    #[cfg(feature = "redis")]
    pub(super) fn server(source: BackendError) -> Self {
        Self::Server { source }
    }
}
