//! What can go wrong with a proxy.

use std::io;
use std::time::Duration;

use super::stats::Stats;

/// Why a proxy did not do as it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// It cannot listen.
    #[error("the proxy cannot listen: {0}; too many connections may be open")]
    Listen(#[from] io::Error),

    /// What was waited for did not come about.
    #[error("after {waited:?}, it is still not so that {what}; the proxy has seen {stats:?}")]
    NotSo {
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// How things stand.
        stats: Box<Stats>,
    },
}
