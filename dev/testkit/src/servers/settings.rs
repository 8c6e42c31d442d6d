//! What a server is told to be.

use std::path::PathBuf;

use super::login::User;

/// What a builder has been told.
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

/// How a server encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tls {
    /// It shows its certificate.
    ServerOnly,
    /// It asks for the client's, too.
    Mutual,
}
