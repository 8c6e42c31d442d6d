//! Reading an address as the `redis` crate does.

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::backend::ConnectError;

/// How to connect to the one server that `url` names.
pub(super) fn one(url: &str) -> Result<ConnectionInfo, ConnectError> {
    url.into_connection_info().map_err(|error| {
        let tls = url.starts_with("rediss:") || url.starts_with("valkeys:");
        if tls && !cfg!(feature = "tls-rustls") {
            ConnectError::url("TLS is not built in; enable the feature `tls-rustls`")
        } else {
            ConnectError::url(error)
        }
    })
}
