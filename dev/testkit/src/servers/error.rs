//! The errors of servers.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::install::InstallError;
use crate::processes::ProcessError;
use crate::proxy::ProxyError;
use crate::resp::RespError;

/// The reason why a server does not serve. Each error contains a remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The program is not installed.
    #[error(transparent)]
    Program(#[from] InstallError),

    /// The process cannot be started, stopped or continued.
    #[error(transparent)]
    Process(#[from] ProcessError),

    /// The server was killed, so the operation is not possible.
    #[error("the server has been killed: call `restart` first")]
    Dead,

    /// The server ended immediately.
    #[error("the server ended at once ({status}); check its arguments; its last words:\n{log}")]
    Ended {
        /// The exit status.
        status: String,
        /// The end of its log.
        log: String,
    },

    /// The data folder cannot be set up.
    #[error("`{command}` failed: {why}")]
    Setup {
        /// The command.
        command: String,
        /// The end of its output.
        why: String,
    },

    /// The server runs but does not reply.
    #[error("the server does not answer after {waited:?} ({why}); its last words:\n{log}")]
    Silent {
        /// The timeout.
        waited: Duration,
        /// The last error.
        why: String,
        /// The end of its log.
        log: String,
    },

    /// A raw client got no answer.
    #[error(transparent)]
    Client(#[from] RespError),

    /// A proxy between servers cannot be started.
    #[error(transparent)]
    Proxy(#[from] ProxyError),

    /// Several servers did not reach a state.
    #[error("after {waited:?}, it is still not so that {what}; their last words:\n{log}")]
    NotSo {
        /// The awaited state.
        what: String,
        /// The timeout.
        waited: Duration,
        /// The ends of their logs.
        log: String,
    },

    /// No port is free.
    #[error("there is no free port: {0}; too many connections may be open")]
    Port(io::Error),

    /// The folder cannot be written.
    #[error("cannot write {}: {source}; is the disk full?", .path.display())]
    Folder {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },

    /// The certificates cannot be created.
    #[error("cannot make certificates: {0}")]
    Certificates(#[from] rcgen::Error),
}
