//! A test `PgBouncer`.

use std::fs;

use tokio::net::TcpStream;

use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::postgres::PostgresServer;
use super::setup;
use crate::install;

const SETTINGS: &str = "pgbouncer.ini";

/// A `pgbouncer` in transaction mode in front of a [`PostgresServer`], with twelve connections to it. It is killed when
/// this value is dropped, and when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the pooler is killed when this is dropped"]
pub struct PgBouncerServer {
    instance: Instance,
}

is_instance!(PgBouncerServer);

impl PgBouncerServer {
    /// Starts a pooler for the database of this server.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the pooler does not start.
    pub async fn start(postgres: &PostgresServer) -> Result<Self, ServerError> {
        let pooler = Self {
            instance: Instance::prepare(&install::PGBOUNCER)?,
        };
        pooler.launch(postgres).await?;
        Ok(pooler)
    }

    /// Returns its URL: `postgres://postgres@127.0.0.1:37123/postgres`.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port())
    }

    async fn launch(&self, postgres: &PostgresServer) -> Result<(), ServerError> {
        let folder = self.instance.folder.path();
        let settings = format!(
            "[databases]\n\
             postgres = host=127.0.0.1 port={} user=postgres\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\n\
             listen_port = {}\n\
             unix_socket_dir =\n\
             auth_type = any\n\
             pool_mode = transaction\n\
             default_pool_size = 12\n\
             max_client_conn = 1000\n\
             ignore_startup_parameters = extra_float_digits\n",
            postgres.port(),
            self.port(),
        );
        // The pooler refuses to run as root, so its user must be able to read the folder.
        let written = fs::write(folder.join(SETTINGS), settings)
            .and_then(|()| setup::data_folder(folder, "data"));
        written.map_err(|source| ServerError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        let mut command = self.instance.program.command();
        command.arg(folder.join(SETTINGS));
        self.instance
            .start(setup::never_as_root(command, folder), None)?;
        let ask = async || {
            let connected = TcpStream::connect(self.instance.port.address()).await;
            connected.map(drop).map_err(|error| error.to_string())
        };
        self.instance.until_ready(ask).await
    }
}
