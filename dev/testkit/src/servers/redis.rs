//! A test Redis server.

use std::path::{Path, PathBuf};

use super::certificates::Certificates;
use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::settings::Settings;
use super::{args, login};
use crate::install;
use crate::resp::{RawClient, RespError};

/// A `redis-server` on a free port with its own folder. It is killed when this value is dropped, and when the test
/// process ends in any way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct RedisServer {
    instance: Instance,
    settings: Settings,
    certificates: Option<Certificates>,
}

is_instance!(RedisServer);

impl RedisServer {
    pub(super) async fn start_with(
        settings: Settings,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let server = Self {
            instance: Instance::prepare(&install::REDIS)?,
            settings,
            certificates,
        };
        server.launch().await?;
        Ok(server)
    }

    /// Returns its URL for the first user of the builder, or else for the default user:
    /// `rediss://name:password@127.0.0.1:37123`, without a database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// Like [`url`](Self::url), with another port, such as that of a proxy.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        let scheme = match self.settings.tls {
            Some(_) => "rediss",
            None => "redis",
        };
        let login = match (self.settings.users.first(), &self.settings.password) {
            (Some(user), _) => login::part(&user.name, &user.password),
            (None, Some(password)) => login::part("", password),
            (None, None) => String::new(),
        };
        format!("{scheme}://{login}127.0.0.1:{port}")
    }

    /// Returns its unix socket, which does not use TLS.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.instance.folder.socket()
    }

    /// Returns whether the settings of this run let it close idle clients.
    #[must_use]
    pub fn closes_idle_clients(&self) -> bool {
        install::REDIS
            .added_settings()
            .iter()
            .any(|it| it == "--timeout")
    }

    /// Returns its certificates, if it uses TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Returns a raw client on its unix socket, logged in as the default user.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Client`] if the server does not reply.
    pub async fn client(&self) -> Result<RawClient, ServerError> {
        let mut client = RawClient::connect_unix(&self.socket()).await?;
        if let Some(password) = &self.settings.password {
            client.command(["AUTH", password]).await?;
        }
        Ok(client)
    }

    /// Kills the server, and restarts it on the same port. Without
    /// [`RedisBuilder::keeps_data`](super::RedisBuilder::keeps_data) it loses its data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch().await
    }

    /// Like [`restart`](Self::restart), but the server always loses its data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn restart_empty(&self) -> Result<(), ServerError> {
        self.kill();
        self.instance.folder.empty()?;
        self.launch().await
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let mut command = self.instance.program.command();
        command
            .args(args::of(&self.settings, self.port(), &self.instance.folder))
            .envs(self.settings.env.iter().map(|(name, value)| (name, value)));
        self.instance.start(command, self.certificates.as_ref())?;
        // The server opens its unix socket last.
        let ask = async || {
            ping(&self.instance.folder.socket())
                .await
                .map_err(|it| it.to_string())
        };
        self.instance.until_ready(ask).await
    }
}

async fn ping(socket: &Path) -> Result<(), RespError> {
    let mut client = RawClient::connect_unix(socket).await?;
    match client.command(["PING"]).await {
        // A server that requires a password is running.
        Err(RespError::Refused(why)) if why.starts_with("NOAUTH") => Ok(()),
        Err(RespError::Refused(why)) if why.starts_with("NOPERM") => Ok(()),
        answer => answer.map(drop),
    }
}
