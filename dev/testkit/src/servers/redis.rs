//! A Redis server of our own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use parking_lot::Mutex;

use super::certificates::Certificates;
use super::error::ServerError;
use super::folder::Folder;
use super::settings::Settings;
use super::{args, login, ready};
use crate::install::{self, Places, Program};
use crate::port::Port;
use crate::processes::Process;
use crate::resp::{RawClient, RespError};

/// A `redis-server` on a free port, with a folder of its own. It is killed when
/// this is dropped, and when the test process ends in whatever way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct RedisServer {
    // The process goes first, its folder and port after it.
    process: Mutex<Option<Process>>,
    program: Program,
    settings: Settings,
    certificates: Option<Certificates>,
    folder: Folder,
    port: Port,
}

impl RedisServer {
    pub(super) async fn start_with(
        settings: Settings,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let program = install::find(&install::REDIS, &Places::of(&install::REDIS))?;
        let server = Self {
            process: Mutex::new(None),
            program,
            settings,
            certificates,
            folder: Folder::make()?,
            port: Port::reserve().map_err(ServerError::Port)?,
        };
        server.launch().await?;
        Ok(server)
    }

    /// Its address for the first user of the builder, or else for the default
    /// one: `rediss://name:password@127.0.0.1:37123`, without a database.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// As [`url`](Self::url), at another port: that of a proxy.
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

    /// Its port, whether it is up or not.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Its unix socket. It speaks no TLS there.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.socket()
    }

    /// Its certificates, if it speaks TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// The number of its process, or `None` if it has been killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.lock().as_ref().map(Process::pid)
    }

    /// A raw client on its unix socket, logged in as the default user.
    ///
    /// # Errors
    ///
    /// [`ServerError::Client`] if it does not answer.
    pub async fn client(&self) -> Result<RawClient, ServerError> {
        let mut client = RawClient::connect_unix(&self.socket()).await?;
        if let Some(password) = &self.settings.password {
            client.command(["AUTH", password]).await?;
        }
        Ok(client)
    }

    /// Stops it where it stands: it still accepts connections and bytes, and
    /// does not answer.
    ///
    /// # Errors
    ///
    /// [`ServerError::Dead`] or [`ServerError::Process`] if it is not there.
    pub fn pause(&self) -> Result<(), ServerError> {
        let mut process = self.process.lock();
        Ok(process.as_mut().ok_or(ServerError::Dead)?.pause()?)
    }

    /// Lets it go on.
    ///
    /// # Errors
    ///
    /// [`ServerError::Dead`] or [`ServerError::Process`] if it is not there.
    pub fn resume(&self) -> Result<(), ServerError> {
        let mut process = self.process.lock();
        Ok(process.as_mut().ok_or(ServerError::Dead)?.resume()?)
    }

    /// Kills it, with `SIGKILL`. Its port refuses connections until a restart.
    pub fn kill(&self) {
        drop(self.process.lock().take());
    }

    /// Kills it and starts it again, on the same port. Without
    /// [`RedisBuilder::keeps_data`](super::RedisBuilder::keeps_data) it has forgotten everything.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch().await
    }

    /// As [`restart`](Self::restart), and it has forgotten everything whatever
    /// the builder was told.
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start).
    pub async fn restart_empty(&self) -> Result<(), ServerError> {
        self.kill();
        self.folder.empty()?;
        self.launch().await
    }

    pub(super) fn last_words(&self) -> String {
        self.folder.end_of_log()
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let (output, errors) = self.folder.prepare(self.certificates.as_ref())?;
        let mut command = self.program.command();
        command
            .args(args::of(&self.settings, self.port(), &self.folder))
            .envs(self.settings.env.iter().map(|(name, value)| (name, value)))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        let process = Process::start(command)?;
        *self.process.lock() = Some(process);
        // It opens its unix socket last.
        let ask = async || {
            ping(&self.folder.socket())
                .await
                .map_err(|it| it.to_string())
        };
        ready::wait(&self.process, &self.folder, ask).await
    }
}

async fn ping(socket: &Path) -> Result<(), RespError> {
    let mut client = RawClient::connect_unix(socket).await?;
    match client.command(["PING"]).await {
        // Whoever asks for a password is up.
        Err(RespError::Refused(why)) if why.starts_with("NOAUTH") => Ok(()),
        Err(RespError::Refused(why)) if why.starts_with("NOPERM") => Ok(()),
        answer => answer.map(drop),
    }
}
