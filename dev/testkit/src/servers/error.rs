//! What can go wrong with a server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::install::InstallError;
use crate::processes::ProcessError;
use crate::proxy::ProxyError;
use crate::resp::RespError;

/// Why a server does not serve. Each says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// Its program is not on this machine.
    #[error(transparent)]
    Program(#[from] InstallError),

    /// Its process cannot be started, stopped or resumed.
    #[error(transparent)]
    Process(#[from] ProcessError),

    /// It has been killed, and so it cannot do that.
    #[error("the server has been killed: call `restart` first")]
    Dead,

    /// It ended at once.
    #[error("the server ended at once ({status}); check its arguments; its last words:\n{log}")]
    Ended {
        /// How it ended.
        status: String,
        /// The end of its log.
        log: String,
    },

    /// Its data folder cannot be set up.
    #[error("`{command}` failed: {why}")]
    Setup {
        /// What was run.
        command: String,
        /// The end of what it said.
        why: String,
    },

    /// It is up and does not answer.
    #[error("the server does not answer after {waited:?} ({why}); its last words:\n{log}")]
    Silent {
        /// For how long we have waited.
        waited: Duration,
        /// What happened instead.
        why: String,
        /// The end of its log.
        log: String,
    },

    /// A raw client has no answer from it.
    #[error(transparent)]
    Client(#[from] RespError),

    /// A proxy between servers cannot be started.
    #[error(transparent)]
    Proxy(#[from] ProxyError),

    /// Several servers do not come to what they should.
    #[error("after {waited:?}, it is still not so that {what}; their last words:\n{log}")]
    NotSo {
        /// What was waited for.
        what: String,
        /// For how long.
        waited: Duration,
        /// The ends of their logs.
        log: String,
    },

    /// No port is free.
    #[error("there is no free port: {0}; too many connections may be open")]
    Port(io::Error),

    /// Its folder cannot be written.
    #[error("cannot write {}: {source}; is the disk full?", .path.display())]
    Folder {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Certificates could not be made.
    #[error("cannot make certificates: {0}")]
    Certificates(#[from] rcgen::Error),
}
