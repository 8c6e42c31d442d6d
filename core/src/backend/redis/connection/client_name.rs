//! The name of our connections on the server (`CLIENT SETNAME`).

use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;

use crate::backend::ConnectError;
use crate::backend::redis::RedisBuilder;
#[cfg(feature = "redlock")]
use crate::backend::redlock::RedlockBuilder;
use crate::options::validate_label;
use crate::runtime::timeout;

impl RedisBuilder {
    /// Names every connection on the server, so that `CLIENT LIST` shows who opened it. By default connections do not have
    /// a name, and a manager that [connects](crate::LockManagerBuilder::connect) with a label sets its label. A name has
    /// the form of a [label](crate::LockManagerBuilder::label). The name is not set if the user does not have the
    /// permission `+client|setname`.
    pub fn client_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.connections.client_name = Some(name.into());
        self
    }
}

#[cfg(feature = "redlock")]
impl RedlockBuilder {
    /// Names every connection on the nodes: see [`RedisBuilder::client_name`].
    pub fn client_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.connections.client_name = Some(name.into());
        self
    }
}

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
