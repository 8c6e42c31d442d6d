//! What kind of server to start.

use super::certificates::Certificates;
use super::error::ServerError;
use super::login::User;
use super::redis::RedisServer;
use super::settings::{Settings, Tls};
use crate::clock::ClockShim;

/// A Redis server to be. Without further words: RESP over TCP, no password, 16
/// databases, nothing written to disk.
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing itself: call `start`"]
pub struct RedisBuilder {
    settings: Settings,
}

impl RedisServer {
    /// Starts a server with the defaults of [`builder`](Self::builder).
    ///
    /// # Errors
    ///
    /// [`ServerError::Program`] if there is none to start, and the others if it
    /// does not come up.
    pub async fn start() -> Result<Self, ServerError> {
        Self::builder().start().await
    }

    /// Says what kind of server to start.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }
}

impl RedisBuilder {
    /// The default user must give this password (`requirepass`).
    pub fn password(mut self, password: &str) -> Self {
        self.settings.password = Some(password.to_owned());
        self
    }

    /// Adds a user who must give this password and may do what these rules say:
    /// `~* &* +@all` is everything. The default user stays, for
    /// [`RedisServer::client`].
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.settings.users.push(User {
            name: name.to_owned(),
            password: password.to_owned(),
            rules: rules.to_owned(),
        });
        self
    }

    /// Limits its memory and says what happens then: `("2mb", "noeviction")`.
    pub fn max_memory(mut self, limit: &str, policy: &str) -> Self {
        self.settings.memory = Some((limit.to_owned(), policy.to_owned()));
        self
    }

    /// Every write survives a [`restart`](RedisServer::restart) (`appendonly
    /// yes`, synced before the answer).
    pub fn keeps_data(mut self) -> Self {
        self.settings.keeps_data = true;
        self
    }

    /// How many databases it has.
    pub fn databases(mut self, number: u32) -> Self {
        self.settings.databases = Some(number);
        self
    }

    /// It speaks TLS only, with [`RedisServer::certificates`].
    pub fn tls(mut self) -> Self {
        self.settings.tls = Some(Tls::ServerOnly);
        self
    }

    /// As [`tls`](Self::tls), and it refuses clients without a certificate.
    pub fn mutual_tls(mut self) -> Self {
        self.settings.tls = Some(Tls::Mutual);
        self
    }

    /// Adds an argument of the server's own: `arg("--timeout").arg("1")`.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.settings.extra.push(arg.into());
        self
    }

    /// It sees this clock, which must outlive it.
    pub fn wearing(mut self, clock: &ClockShim) -> Self {
        self.settings.env.extend(clock.variables());
        self
    }

    /// Starts it and waits until it answers.
    ///
    /// # Errors
    ///
    /// [`ServerError::Program`] if there is none to start, and the others if it
    /// does not come up.
    pub async fn start(self) -> Result<RedisServer, ServerError> {
        let certificates = match self.settings.tls {
            Some(_) => Some(Certificates::make()?),
            None => None,
        };
        RedisServer::start_with(self.settings, certificates).await
    }
}
