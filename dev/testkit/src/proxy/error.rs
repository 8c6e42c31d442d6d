//! The errors of a proxy.

use std::io;
use std::time::Duration;

use super::stats::Stats;

/// The reason why an operation of a proxy failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// The proxy cannot listen.
    #[error("the proxy cannot listen: {0}; too many connections may be open")]
    Listen(#[from] io::Error),

    /// The awaited state was not reached.
    #[error("after {waited:?}, it is still not so that {what}; the proxy has seen {stats:?}")]
    NotSo {
        /// The awaited state.
        what: String,
        /// The timeout.
        waited: Duration,
        /// The statistics at the timeout.
        stats: Box<Stats>,
    },
}
