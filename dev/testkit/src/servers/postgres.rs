//! A Postgres server of our own.

use std::process::{Command, Stdio};

use parking_lot::Mutex;

use super::error::ServerError;
use super::folder::Folder;
use super::{ready, setup};
use crate::install::{self, Places, Program};
use crate::port::Port;
use crate::processes::Process;

const DATA: &str = "data";

/// A `postgres` on a free port, with a folder of its own: no password, user and database `postgres`. It is stopped
/// when this is dropped, and killed when the test process ends in whatever way.
#[derive(Debug)]
#[must_use = "the server is stopped when this is dropped"]
pub struct PostgresServer {
    // The process goes first, its folder and port after it.
    process: Mutex<Option<Process>>,
    program: Program,
    folder: Folder,
    port: Port,
}

impl PostgresServer {
    /// Starts a server that writes to disk when it likes.
    ///
    /// # Errors
    ///
    /// [`ServerError::Program`] if there is none to start, and the others if it does not come up.
    pub async fn start() -> Result<Self, ServerError> {
        let server = Self {
            process: Mutex::new(None),
            program: install::find(&install::POSTGRES, &Places::of(&install::POSTGRES))?,
            folder: Folder::make()?,
            port: Port::reserve().map_err(ServerError::Port)?,
        };
        server.launch().await?;
        Ok(server)
    }

    /// Its address: `postgres://postgres@127.0.0.1:37123/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let made = setup::data_folder(self.folder.path(), DATA);
        made.map_err(|source| ServerError::Folder {
            path: self.folder.path().to_owned(),
            source,
        })?;
        let mut init = self.tool("initdb");
        init.args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C", "--pgdata", DATA]);
        setup::run(self.lowered(init))?;
        let (output, errors) = self.folder.prepare(None)?;
        let mut command = self.program.command();
        command.args(["-D", DATA, "-p", &self.port().to_string()]);
        for setting in [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "fsync=off",
            "max_connections=200",
        ] {
            command.args(["-c", setting]);
        }
        let mut command = self.lowered(command);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        *self.process.lock() = Some(Process::start(command)?);
        let ask = async || {
            let mut is_ready = self.tool("pg_isready");
            is_ready.args(["-h", "127.0.0.1", "-p", &self.port().to_string()]);
            setup::run(is_ready).map_err(|error| error.to_string())
        };
        ready::wait(&self.process, &self.folder, ask).await
    }

    /// A program beside the server's.
    fn tool(&self, name: &str) -> Command {
        let own = self.program.command();
        // Distributions link some of the programs, not all, to other folders.
        let real = self.program.path.canonicalize();
        let real = real.unwrap_or_else(|_| self.program.path.clone());
        let mut command = Command::new(real.with_file_name(name));
        command.envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
    }

    fn lowered(&self, command: Command) -> Command {
        let mut command = setup::never_as_root(command, self.folder.path());
        command.current_dir(self.folder.path());
        command
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // Killed, it would leave its shared memory behind.
        let mut stop = self.tool("pg_ctl");
        stop.args(["stop", "--mode=immediate", "--pgdata", DATA]);
        drop(setup::run(self.lowered(stop)));
    }
}
