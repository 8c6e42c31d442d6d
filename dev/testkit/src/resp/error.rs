//! The errors of a raw client.

use std::io;
use std::time::Duration;

use super::frames::NotResp;

/// The reason why a raw client got no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RespError {
    /// The connection cannot be opened.
    #[error("cannot connect to {to}: {source}; is the server up?")]
    Connect {
        /// The address.
        to: String,
        /// The error of the system.
        source: io::Error,
    },

    /// The connection is broken.
    #[error("the connection broke: {0}; connect again")]
    Broken(#[from] io::Error),

    /// The server has closed the connection.
    #[error("the server has closed the connection; connect again")]
    Closed,

    /// No answer arrived in time. The command may have been executed.
    #[error(
        "no answer within {0:?}; what was sent may have been done, and its answer may still come"
    )]
    Late(Duration),

    /// The server uses another protocol.
    #[error("{0}; is this the port of a Redis server without TLS?")]
    NotResp(#[from] NotResp),

    /// The server returned an error.
    #[error("the server refused: {0}")]
    Refused(String),
}
