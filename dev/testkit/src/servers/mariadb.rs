//! A test `MariaDB` server.

use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::setup;
use super::template::Template;
use crate::install;

const DATA: &str = "data";
const SOCKET: &str = "mariadb.sock";
/// The size of the log, which is copied with each new folder. The default is 96 MiB.
const LOG_SIZE: &str = "--innodb-log-file-size=8M";
/// The fifth byte of the server's greeting, which is the version of the protocol.
const GREETING: u8 = 10;

/// A `mariadbd` on a free port with its own folder: user `root` without a password, database `test`. It is killed when
/// this value is dropped, and when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct MariaDbServer {
    instance: Instance,
}

is_instance!(MariaDbServer);

impl MariaDbServer {
    /// Starts a server that does not sync to disk.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Program`] if the program is missing, and other errors if the server does not start.
    pub async fn start() -> Result<Self, ServerError> {
        let server = Self {
            instance: Instance::prepare(&install::MARIADB)?,
        };
        let template = Template::of("mariadb", &server.instance.program);
        let data = server.path(DATA);
        if !template.copy_to(&data).await? {
            setup::complete(server.set_up()).await?;
            template.keep(&data).await?;
        }
        server.launch().await?;
        Ok(server)
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

    /// Returns its URL: `mysql://root@127.0.0.1:37123/test`.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_at(self.port())
    }

    /// Like [`url`](Self::url), with another port, such as that of a proxy.
    #[must_use]
    pub fn url_at(&self, port: u16) -> String {
        format!("mysql://root@127.0.0.1:{port}/test")
    }

    /// Returns its unix socket. Over TCP the driver waits 40 ms for each statement that it prepares.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path(SOCKET)
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let mut command = self.instance.program.command();
        command.arg("--no-defaults");
        self.add_places(&mut command);
        command
            .arg(format!("--port={}", self.port()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.path("pid").display()))
            .args([
                "--bind-address=127.0.0.1",
                // The log is written at each commit, and synced once a second.
                "--innodb-flush-log-at-trx-commit=2",
                LOG_SIZE,
            ]);
        self.instance.start(command, None)?;
        let ask = async || self.greeting().await.map_err(|error| error.to_string());
        self.instance.until_ready(ask).await
    }

    /// Returns the command that creates the system tables.
    fn set_up(&self) -> Command {
        let mut command = Command::new(self.base().join("bin/mariadb-install-db"));
        let own = self.instance.program.command();
        command.envs(
            own.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        command
            .arg("--no-defaults")
            .arg("--auth-root-authentication-method=normal")
            .arg(LOG_SIZE);
        self.add_places(&mut command);
        command
    }

    fn add_places(&self, command: &mut Command) {
        // A starting server deletes all temporary tables in its folder, including those of other servers.
        command.env("TMPDIR", self.instance.folder.path());
        command
            .arg(format!("--basedir={}", self.base().display()))
            .arg(format!("--datadir={}", self.path(DATA).display()));
        if setup::is_roots(self.instance.folder.path()) {
            command.arg("--user=root");
        }
    }

    /// Returns the folder that contains `sbin`.
    fn base(&self) -> &Path {
        let mut above = self.instance.program.path.ancestors();
        above.nth(2).unwrap_or(Path::new("/usr"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.instance.folder.path().join(name)
    }

    /// Reads the greeting of the server, which opens its port last.
    async fn greeting(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(self.instance.port.address()).await?;
        let mut head = [0; 5];
        stream.read_exact(&mut head).await?;
        match head[4] {
            GREETING => Ok(()),
            other => Err(std::io::Error::other(format!("it greets with {other}"))),
        }
    }
}
