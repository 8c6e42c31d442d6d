//! The name of our connections on the server (`CLIENT SETNAME`).

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use leasehold_core::backend::ConnectError;
use leasehold_core::backend::support::runtime::timeout;
use leasehold_core::backend::support::validate_label;

/// Checks the name that a builder sets.
pub(crate) fn check(name: Option<&Arc<str>>) -> Result<(), ConnectError> {
    name.map_or(Ok(()), |name| Ok(validate_label(name).map(drop)?))
}

/// Names a connection. The name is only for operators, so a connection is usable even if the server refuses the name. If
/// the connection has failed, the next command reports the failure.
pub(crate) async fn set(mut connection: MultiplexedConnection, name: &str, within: Duration) {
    let mut command = redis::cmd("CLIENT");
    command.arg("SETNAME").arg(name);
    if let Some(set) = timeout(within, command.query_async::<()>(&mut connection)) {
        let _refused = set.await;
    }
}
