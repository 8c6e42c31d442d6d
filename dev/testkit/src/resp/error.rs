//! What can go wrong with a raw client.

use std::io;
use std::time::Duration;

use super::frames::NotResp;

/// Why a raw client has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RespError {
    /// There is no connection.
    #[error("cannot connect to {to}: {source}; is the server up?")]
    Connect {
        /// The address.
        to: String,
        /// What the system said.
        source: io::Error,
    },

    /// The connection has broken.
    #[error("the connection broke: {0}; connect again")]
    Broken(#[from] io::Error),

    /// The server has ended the connection.
    #[error("the server has closed the connection; connect again")]
    Closed,

    /// Nothing came in time. What was sent may have been done.
    #[error(
        "no answer within {0:?}; what was sent may have been done, and its answer may still come"
    )]
    Late(Duration),

    /// The server does not speak this protocol.
    #[error("{0}; is this the port of a Redis server without TLS?")]
    NotResp(#[from] NotResp),

    /// The server refuses.
    #[error("the server refused: {0}")]
    Refused(String),
}
