//! Builds a Redis server.

use super::certificates::Certificates;
use super::error::ServerError;
use super::login::User;
use super::redis::RedisServer;
use super::settings::{Settings, Tls};
use crate::clock::ClockShim;

/// A builder for a Redis server. By default the server uses RESP over TCP without a password, has 16 databases, and
/// writes nothing to disk.
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
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start() -> Result<Self, ServerError> {
        Self::builder().start().await
    }

    /// Returns a builder.
    pub fn builder() -> RedisBuilder {
        RedisBuilder::default()
    }
}

impl RedisBuilder {
    /// Sets the password of the default user (`requirepass`).
    pub fn password(mut self, password: &str) -> Self {
        self.settings.password = Some(password.to_owned());
        self
    }

    /// Adds a user with this password and these rules: `~* &* +@all` allows everything. The default user stays, for
    /// [`RedisServer::client`].
    pub fn user(mut self, name: &str, password: &str, rules: &str) -> Self {
        self.settings.users.push(User {
            name: name.to_owned(),
            password: password.to_owned(),
            rules: rules.to_owned(),
        });
        self
    }

    /// Sets the memory limit and its policy: `("2mb", "noeviction")`.
    pub fn max_memory(mut self, limit: &str, policy: &str) -> Self {
        self.settings.memory = Some((limit.to_owned(), policy.to_owned()));
        self
    }

    /// Makes every write survive a [`restart`](RedisServer::restart) (`appendonly yes`, synced before the reply).
    pub fn keeps_data(mut self) -> Self {
        self.settings.keeps_data = true;
        self
    }

    /// Sets the number of databases.
    pub fn databases(mut self, number: u32) -> Self {
        self.settings.databases = Some(number);
        self
    }

    /// Accepts only TLS, with [`RedisServer::certificates`].
    pub fn tls(mut self) -> Self {
        self.settings.tls = Some(Tls::ServerOnly);
        self
    }

    /// Like [`tls`](Self::tls), and refuses clients without a certificate.
    pub fn mutual_tls(mut self) -> Self {
        self.settings.tls = Some(Tls::Mutual);
        self
    }

    /// Adds an argument of `redis-server`: `arg("--timeout").arg("1")`.
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.settings.extra.push(arg.into());
        self
    }

    /// Makes the server use this clock, which must outlive it.
    pub fn wearing(mut self, clock: &ClockShim) -> Self {
        self.settings.env.extend(clock.variables());
        self
    }

    /// Starts the server, and waits until it replies.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start(self) -> Result<RedisServer, ServerError> {
        let certificates = match self.settings.tls {
            Some(_) => Some(Certificates::make()?),
            None => None,
        };
        RedisServer::start_with(self.settings, certificates).await
    }
}
