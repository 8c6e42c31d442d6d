//! Parses a URL as the `redis` crate does.

use redis::{ConnectionInfo, IntoConnectionInfo};

use crate::backend::ConnectError;

/// How to connect to the one server that `url` names.
pub(crate) fn one(url: &str) -> Result<ConnectionInfo, ConnectError> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    // Part of the password would be taken for a port, and told with the address.
    if let Some(end) = rest.find(['/', '?', '#'])
        && rest[end..].contains('@')
        && !scheme.ends_with("unix")
    {
        return Err(ConnectError::url(
            "its user or password has a `/`, `?` or `#`; write %2F, %3F or %23",
        ));
    }
    url.into_connection_info().map_err(|error| {
        let tls = url.starts_with("rediss:") || url.starts_with("valkeys:");
        if tls && !cfg!(feature = "tls-rustls") {
            ConnectError::url("TLS is not built in; enable the feature `tls-rustls`")
        } else {
            ConnectError::url(error)
        }
    })
}
