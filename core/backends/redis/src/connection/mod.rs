//! One connection for many callers: its socket, the task that reads it, and its end.

pub(crate) mod bounded_stream;
pub(crate) mod caller_driven;
pub(crate) mod client_name;
pub(crate) mod push_messages;
pub(crate) mod shared_connection;
#[cfg(feature = "simulation")]
pub(crate) mod simulated_transport;
#[cfg(feature = "tls-rustls")]
pub(crate) mod tls;
pub(crate) mod transport;
pub(crate) mod wait_command_connections;
