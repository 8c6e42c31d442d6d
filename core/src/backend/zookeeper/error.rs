//! Turns `ZooKeeper`'s errors into backend errors.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use tokio::net::lookup_host;
use zookeeper_client::Error;

use crate::backend::{Applied, BackendError, ConnectError};
use crate::runtime::timeout;

/// How long a name is looked up to say why there is no connection.
const LOOKUP: Duration = Duration::from_secs(1);

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

/// Why there is no session with the servers at `address`.
pub(super) async fn not_connected(error: &Error, address: &str, is_secure: bool) -> ConnectError {
    let failed = match error {
        Error::BadArguments(_) => return ConnectError::url(opaque(error)),
        Error::NoHosts | Error::Timeout | Error::ConnectionLoss => {
            let remedy = match is_secure {
                true => {
                    "no server of the ensemble could be reached over TLS; check the addresses, that the ports are \
                     those for TLS, that an authority trusted here has signed the servers' certificates and for \
                     these names, that they trust the client's if they ask for one, and that a majority is up"
                }
                false => {
                    "no server of the ensemble could be reached; check the addresses, and that a majority is up"
                }
            };
            let told = match unresolved(address).await {
                Some(told) => format!("{remedy}: {told}"),
                None => remedy.to_owned(),
            };
            BackendError::not_applied(told).with_source(opaque(error))
        }
        _ => failed(error),
    };
    ConnectError::server(address, failed)
}

/// Whose name leads nowhere, if there is one: the client does not tell.
async fn unresolved(address: &str) -> Option<String> {
    for server in address.split(',') {
        if let Ok(Err(error)) = timeout(LOOKUP, lookup_host(server))?.await {
            return Some(format!(
                "the name in {server} could not be resolved ({error})"
            ));
        }
    }
    None
}

pub(super) fn no_thread(error: &io::Error) -> Error {
    Error::UnexpectedError(format!("no thread: {error}"))
}

/// No type of the client is part of our interface.
fn opaque(error: &Error) -> Box<dyn StdError + Send + Sync> {
    error.to_string().into()
}
