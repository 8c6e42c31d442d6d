//! A test Postgres server.

use std::process::Command;

use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::setup;
use crate::install;

const DATA: &str = "data";

/// A `postgres` on a free port with its own folder: no password, user and database `postgres`. It is stopped when this
/// value is dropped, and killed when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the server is stopped when this is dropped"]
pub struct PostgresServer {
    instance: Instance,
}

is_instance!(PostgresServer);

impl PostgresServer {
    /// Starts a server that does not sync to disk.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start() -> Result<Self, ServerError> {
        let server = Self {
            instance: Instance::prepare(&install::POSTGRES)?,
        };
        server.launch().await?;
        Ok(server)
    }

    /// Returns its URL: `postgres://postgres@127.0.0.1:37123/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let made = setup::data_folder(self.instance.folder.path(), DATA);
        made.map_err(|source| ServerError::Folder {
            path: self.instance.folder.path().to_owned(),
            source,
        })?;
        let mut init = self.tool("initdb");
        init.args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata", DATA]);
        setup::run(self.lowered(init))?;
        let mut command = self.instance.program.command();
        command.args(["-D", DATA, "-p", &self.port().to_string()]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=200",
        ] {
            command.args(["-c", setting]);
        }
        self.instance.start(self.lowered(command), None)?;
        let ask = async || {
            let mut is_ready = self.tool("pg_isready");
            is_ready.args(["-h", "127.0.0.1", "-p", &self.port().to_string()]);
            setup::run(is_ready).map_err(|error| error.to_string())
        };
        self.instance.until_ready(ask).await
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
        // A killed server would leave its shared memory.
        let mut stop = self.tool("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--pgdata", DATA]);
        drop(setup::run(self.lowered(stop)));
    }
}
