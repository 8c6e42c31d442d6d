//! The settings of a server.

use std::path::PathBuf;

use super::login::User;

/// The settings of a builder.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    pub(super) password: Option<String>,
    pub(super) users: Vec<User>,
    pub(super) memory: Option<(String, String)>,
    pub(super) keeps_data: bool,
    pub(super) databases: Option<u32>,
    pub(super) tls: Option<Tls>,
    pub(super) extra: Vec<String>,
    /// Environment variables.
    pub(super) env: Vec<(&'static str, PathBuf)>,
}

/// How a server uses TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    /// Only the server has a certificate.
    ServerOnly,
    /// The server also requires a client certificate.
    Mutual,
}
