//! Converts `ZooKeeper`'s errors into backend errors.

use std::error::Error as StdError;
use std::io;
use std::time::Duration;

use tokio::net::lookup_host;
use zookeeper_client::Error;

use leasehold_core::backend::support::runtime::timeout;
use leasehold_core::backend::{Applied, BackendError, ConnectError};

/// The time limit for the name lookup after a failed connect. The lookup explains the failure.
const LOOKUP: Duration = Duration::from_secs(1);

/// Converts the error of a failed request.
pub(super) fn failed(error: &Error) -> BackendError {
    match error {
        Error::NoAuth | Error::InvalidAcl | Error::AuthFailed => BackendError::not_applied(
            "the server refuses this client; give it credentials with the permissions cdrw on the lock nodes",
        )
        .permanent(),
        Error::NoNode => BackendError::not_applied(
            "the folder in the URL does not exist; create it, or let this client create it",
        ),
        Error::QuotaExceeded => BackendError::not_applied(
            "the server's quota is exhausted; raise it for the folder in the URL",
        ),
        Error::Throttled => BackendError::not_applied("the server throttles requests"),
        Error::NotReadOnly => BackendError::not_applied("the server is cut off and read-only"),
        _ if ends_session(error) => {
            BackendError::not_applied("the session with the server is over")
        }
        _ => BackendError::unknown("the server did not reply"),
    }
    .with_source(opaque(error))
}

/// Converts the error of a failed request for an attempt that has or may have a node. That attempt needs a cleanup.
pub(super) fn failed_within(error: &Error) -> BackendError {
    let failed = failed(error);
    if failed.applied() == Applied::Unknown {
        return failed;
    }
    BackendError::unknown("the attempt has a node, and the next request was refused")
        .because_of(failed)
}

/// Returns whether the session and all its nodes have ended.
pub(super) fn ends_session(error: &Error) -> bool {
    matches!(
        error,
        Error::SessionExpired | Error::ClientClosed | Error::SessionMoved | Error::AuthFailed
    )
}

/// Returns the reason why the client could not open a session with the servers at `address`.
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
            let message = match unresolved(address).await {
                Some(message) => format!("{remedy}: {message}"),
                None => remedy.to_owned(),
            };
            BackendError::not_applied(message).with_source(opaque(error))
        }
        _ => failed(error),
    };
    ConnectError::server(address, failed)
}

/// Returns the first name whose lookup fails, if any. The client does not report failed name lookups.
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
    Error::UnexpectedError(format!("cannot start a thread: {error}"))
}

/// Converts the client's error to text, because the client's types are not part of our API.
fn opaque(error: &Error) -> Box<dyn StdError + Send + Sync> {
    error.to_string().into()
}
