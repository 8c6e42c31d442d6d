//! What failures of the server mean.

use std::error::Error as StdError;
use std::io;

use zookeeper_client::Error;

use crate::backend::{Applied, BackendError, ConnectError};

/// What a failed request means for whoever made it.
pub(super) fn failed(error: &Error) -> BackendError {
    match error {
        Error::NoAuth | Error::InvalidAcl | Error::AuthFailed => BackendError::not_applied(
            "the server refuses this client; give it credentials with the rights cdrw on the lock nodes",
        )
        .permanent(),
        Error::NoNode => BackendError::not_applied(
            "the folder in the URL vanished; create it, or let this client create it",
        ),
        Error::QuotaExceeded => BackendError::not_applied(
            "the server's quota is exhausted; raise it for the folder in the URL",
        ),
        Error::Throttled => BackendError::not_applied("the server throttles requests"),
        Error::NotReadOnly => BackendError::not_applied("the server is cut off and only reads"),
        _ if ends_session(error) => {
            BackendError::not_applied("the session with the server is over")
        }
        _ => BackendError::unknown("the server did not answer"),
    }
    .with_source(opaque(error))
}

/// The same, where the attempt has a node, or may have: it is to be cleaned up.
pub(super) fn failed_within(error: &Error) -> BackendError {
    let failed = failed(error);
    if failed.applied() == Applied::Unknown {
        return failed;
    }
    BackendError::unknown("the attempt has a node, and what followed was refused")
        .because_of(failed)
}

/// Whether the session, and all that it held, is over.
pub(super) fn ends_session(error: &Error) -> bool {
    matches!(
        error,
        Error::SessionExpired | Error::ClientClosed | Error::SessionMoved | Error::AuthFailed
    )
}

pub(super) fn not_connected(error: &Error, is_secure: bool) -> ConnectError {
    match error {
        Error::NoHosts | Error::Timeout | Error::ConnectionLoss if is_secure => {
            ConnectError::server(
                BackendError::not_applied(
                    "no server of the ensemble could be reached over TLS; check the addresses, that the ports are \
                     those for TLS, that an authority trusted here has signed the servers' certificates and for \
                     these names, that they trust the client's if they ask for one, and that a majority is up",
                )
                .with_source(opaque(error)),
            )
        }
        Error::BadArguments(_) => ConnectError::url(opaque(error)),
        Error::NoHosts | Error::Timeout | Error::ConnectionLoss => ConnectError::server(
            BackendError::not_applied(
                "no server of the ensemble could be reached; check the addresses, and that a majority is up",
            )
            .with_source(opaque(error)),
        ),
        _ => ConnectError::server(failed(error)),
    }
}

pub(super) fn no_thread(error: &io::Error) -> Error {
    Error::UnexpectedError(format!("no thread: {error}"))
}

/// No type of the client is part of our interface.
fn opaque(error: &Error) -> Box<dyn StdError + Send + Sync> {
    error.to_string().into()
}
