//! A test Postgres server.

use std::path::PathBuf;
use std::process::Command;

use super::certificates::{Certificates, SERVER, SERVER_KEY};
use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::setup;
use super::template::Template;
use crate::clock::ClockShim;
use crate::install;

const DATA: &str = "data";

/// A `postgres` on a free port with its own folder: no password, user and database `postgres`. It is stopped when this
/// value is dropped, and killed when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the server is stopped when this is dropped"]
pub struct PostgresServer {
    instance: Instance,
    settings: PostgresBuilder,
    certificates: Option<Certificates>,
}

is_instance!(PostgresServer);

/// A builder for a Postgres server, which does not sync to disk.
#[derive(Debug, Clone, Default)]
#[must_use = "a builder does nothing itself: call `start`"]
pub struct PostgresBuilder {
    settings: Vec<String>,
    /// Environment variables.
    env: Vec<(&'static str, PathBuf)>,
    tls: bool,
}

impl PostgresBuilder {
    /// Adds a setting: `setting("max_connections=10")`.
    pub fn setting(mut self, setting: impl Into<String>) -> Self {
        self.settings.push(setting.into());
        self
    }

    /// Accepts TLS, with [`PostgresServer::certificates`].
    pub fn tls(mut self) -> Self {
        self.tls = true;
        self
    }

    /// Makes the server use this clock, which must outlive it.
    pub fn wearing(mut self, clock: &ClockShim) -> Self {
        self.env.extend(clock.variables());
        self
    }

    /// Starts the server, and waits until it replies.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start(self) -> Result<PostgresServer, ServerError> {
        let mut server = self.prepare()?;
        server.create().await?;
        if server.settings.tls {
            server.use_certificates()?;
        }
        server.launch().await?;
        Ok(server)
    }

    /// Reserves the port and the folder of a server.
    pub(super) fn prepare(self) -> Result<PostgresServer, ServerError> {
        Ok(PostgresServer {
            instance: Instance::prepare(&install::POSTGRES)?,
            settings: self,
            certificates: None,
        })
    }
}

impl PostgresServer {
    /// Starts a server with the defaults of [`builder`](Self::builder).
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start() -> Result<Self, ServerError> {
        Self::builder().start().await
    }

    /// Returns a builder.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }

    /// Returns its URL: `postgres://postgres@127.0.0.1:37123/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// Like [`url`](Self::url), with another port, such as that of a proxy.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/postgres")
    }

    /// Returns its certificates, if it accepts TLS.
    #[must_use]
    pub const fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Kills the server with all its processes, without a checkpoint. It keeps its port and its folder.
    pub fn kill(&self) {
        // Killing only the first process would leave shared memory, and the others for a moment.
        let mut stop = self.tool("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--pgdata", DATA]);
        drop(setup::run(self.lowered(stop)));
        self.instance.kill();
    }

    /// Kills the server, and restarts it on the same port with all committed data.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch().await
    }

    /// Adds a setting before the first start.
    pub(super) fn add_setting(&mut self, setting: String) {
        self.settings.settings.push(setting);
    }

    /// Creates an empty database.
    pub(super) async fn create(&self) -> Result<(), ServerError> {
        let template = Template::of("postgres", &self.instance.program);
        let data = self.instance.folder.path().join(DATA);
        self.make_data_folder()?;
        if template.copy_to(&data).await? {
            return Ok(());
        }
        let mut init = self.tool("initdb");
        init.args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata", DATA]);
        setup::complete(self.lowered(init)).await?;
        template.keep(&data).await
    }

    /// Creates a copy of a running server, which becomes a replica.
    pub(super) async fn copy(&self, primary: &Self) -> Result<(), ServerError> {
        let mut copy = self.tool("pg_basebackup");
        copy.args(primary.client_args())
            .args(["--checkpoint=fast", "--no-sync", "--no-manifest"])
            .args(["--write-recovery-conf", "--pgdata", DATA]);
        self.set_up(copy).await
    }

    /// Makes a replica a primary.
    pub(super) async fn promote(&self) -> Result<(), ServerError> {
        let mut promote = self.tool("pg_ctl");
        promote.args(["promote", "--pgdata", DATA]);
        setup::complete(self.lowered(promote)).await
    }

    /// Executes a statement.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Setup`] if the statement fails, or if the server is down.
    pub async fn query(&self, sql: &str) -> Result<(), ServerError> {
        let mut query = self.tool("psql");
        query
            .args(self.client_args())
            .args(["--no-psqlrc", "--command", sql]);
        setup::complete(query).await
    }

    /// Starts the server on the data in its folder.
    pub(super) async fn launch(&self) -> Result<(), ServerError> {
        let mut command = self.instance.program.command();
        command
            .args(["-D", DATA, "-p", &self.port().to_string()])
            .envs(self.settings.env.iter().map(|(name, value)| (name, value)));
        let own = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=200",
        ];
        let added = self.settings.settings.iter().map(String::as_str);
        for setting in own.into_iter().chain(added) {
            command.args(["-c", setting]);
        }
        self.instance.start(self.lowered(command), None)?;
        let ask = async || {
            let mut is_ready = self.tool("pg_isready");
            is_ready.args(["-h", "127.0.0.1", "-p", &self.port().to_string()]);
            let ready = setup::complete(is_ready).await;
            ready.map_err(|error| error.to_string())
        };
        self.instance.until_ready(ask).await
    }

    /// Runs a tool that writes the data, after emptying the folder.
    async fn set_up(&self, tool: Command) -> Result<(), ServerError> {
        self.make_data_folder()?;
        setup::complete(self.lowered(tool)).await
    }

    /// Creates certificates, and adds the settings that use them.
    fn use_certificates(&mut self) -> Result<(), ServerError> {
        let made = Certificates::make()?;
        let folder = self.instance.folder.path().to_owned();
        for (name, pem) in [(SERVER, &made.server), (SERVER_KEY, &made.server_key)] {
            let written = setup::private_file(&folder, name, pem);
            written.map_err(|source| ServerError::Folder {
                path: folder.clone(),
                source,
            })?;
        }
        for setting in [
            "ssl=on",
            "ssl_cert_file=../server.pem",
            "ssl_key_file=../server.key",
        ] {
            self.add_setting(setting.to_owned());
        }
        self.certificates = Some(made);
        Ok(())
    }

    /// Makes an empty data folder.
    fn make_data_folder(&self) -> Result<(), ServerError> {
        self.instance.folder.empty()?;
        let made = setup::data_folder(self.instance.folder.path(), DATA);
        made.map_err(|source| ServerError::Folder {
            path: self.instance.folder.path().to_owned(),
            source,
        })
    }

    fn client_args(&self) -> [String; 3] {
        [
            "--host=127.0.0.1".to_owned(),
            format!("--port={}", self.port()),
            "--username=postgres".to_owned(),
        ]
    }

    /// Returns the command of another program of the server.
    fn tool(&self, name: &str) -> Command {
        let own = self.instance.program.command();
        // Distributions link only some of the programs to other folders, so use the real folder.
        let real = self.instance.program.path.canonicalize();
        let real = real.unwrap_or_else(|_| self.instance.program.path.clone());
        let mut command = Command::new(real.with_file_name(name));
        command.envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
    }

    fn lowered(&self, command: Command) -> Command {
        let mut command = setup::never_as_root(command, self.instance.folder.path());
        command.current_dir(self.instance.folder.path());
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        self.kill();
    }
}
