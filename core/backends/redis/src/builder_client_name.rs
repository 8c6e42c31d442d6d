//! The name that a builder gives its connections on the server.

use std::sync::Arc;

use super::RedisBuilder;

impl RedisBuilder {
    /// Names every connection on the server, so that `CLIENT LIST` shows who opened it. By default connections do not have
    /// a name, and a manager that [connects](leasehold_core::LockManagerBuilder::connect) with a label sets its label. A name has
    /// the form of a [label](leasehold_core::LockManagerBuilder::label). The name is not set if the user does not have the
    /// permission `+client|setname`.
    pub fn client_name(mut self, name: impl Into<Arc<str>>) -> Self {
        self.connections.client_name = Some(name.into());
        self
    }
}
