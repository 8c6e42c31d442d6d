//! A test `ZooKeeper` server.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::certificates::Certificates;
use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::zookeeper_settings::{Settings, tls_lines};
use crate::install;
use crate::port::Port;

const CONFIG: &str = "zoo.cfg";
const DATA: &str = "data";
const HOSTS: &str = "hosts";

/// The timeout of one reply.
const PATIENCE: Duration = Duration::from_millis(500);

/// The number of requests after which a server without a reply does not serve.
const TRIES: usize = 20;

/// Java options with which the server starts faster than with the optimizing compiler.
const OPTIONS: &[&str] = &[
    "-Xmx192m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dzookeeper.forceSync=no",
    // Otherwise servers that look for a leader may be silent for up to a minute.
    "-Dzookeeper.fastleader.maxNotificationInterval=400",
    "-Dzookeeper.cnxTimeout=500",
    // Otherwise a server that was not elected after all waits for the others for the whole `initLimit`, possibly
    // repeatedly.
    "-Dzookeeper.leader.maxTimeToWaitForEpoch=1000",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/// A `ZooKeeper` server on a free port with its own folder, alone or in an ensemble. It is killed when this value is
/// dropped, and when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct ZooKeeperServer {
    instance: Instance,
    settings: Settings,
    certificates: Option<Certificates>,
    /// Its number in an ensemble, and the configuration lines of all servers.
    peers: Option<(usize, String)>,
    secure_port: Port,
}

is_instance!(ZooKeeperServer);

impl ZooKeeperServer {
    pub(super) fn prepare(
        settings: Settings,
        certificates: Option<Certificates>,
        peers: Option<(usize, String)>,
    ) -> Result<Self, ServerError> {
        Ok(Self {
            instance: Instance::prepare(&install::ZOOKEEPER)?,
            settings,
            certificates,
            peers,
            secure_port: Port::reserve().map_err(ServerError::Port)?,
        })
    }

    /// Returns its address for clients: `127.0.0.1:37123`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// Returns its address for clients with TLS, if it has one.
    #[must_use]
    pub fn secure_address(&self) -> Option<String> {
        let port = self.secure_port.number();
        self.settings.tls.map(|_| format!("127.0.0.1:{port}"))
    }

    /// Returns the certificates for its clients, if it uses TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// Returns its current role: `standalone`, `leader` or `follower`.
    ///
    /// # Errors
    ///
    /// Returns its reply as the error, if it does not serve.
    pub async fn role(&self) -> Result<String, String> {
        let said = self.ask("srvr").await.map_err(|error| error.to_string())?;
        let role = said.lines().find_map(|line| line.strip_prefix("Mode: "));
        role.map(str::to_owned)
            .ok_or_else(|| said.trim().to_owned())
    }

    /// Kills the server, and restarts it on the same port with its data.
    ///
    /// # Errors
    ///
    /// Returns the errors of a start.
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch()?;
        self.until_ready().await
    }

    pub(super) fn launch(&self) -> Result<(), ServerError> {
        let at = |source| ServerError::Folder {
            path: self.instance.folder.path().to_owned(),
            source,
        };
        let data = self.instance.folder.path().join(DATA);
        std::fs::create_dir_all(&data).map_err(at)?;
        let mut config = self.settings.lines();
        config += &format!(
            "dataDir={}\nclientPort={}\n",
            data.display(),
            self.instance.port.number()
        );
        if let Some(tls) = self.settings.tls {
            config += &tls_lines(tls, self.secure_port.number(), self.instance.folder.path());
        }
        let mut class = "org.apache.zookeeper.server.ZooKeeperServerMain";
        if let Some((id, peers)) = &self.peers {
            class = "org.apache.zookeeper.server.quorum.QuorumPeerMain";
            config += peers;
            std::fs::write(data.join("myid"), id.to_string()).map_err(at)?;
        }
        let path = self.instance.folder.path().join(CONFIG);
        std::fs::write(&path, config).map_err(at)?;
        // The server resolves the names of all addresses. Without a name server that takes seconds each time, so use a
        // hosts file.
        let hosts = self.instance.folder.path().join(HOSTS);
        std::fs::write(&hosts, "127.0.0.1 localhost\n").map_err(at)?;
        let hosts = format!("-Djdk.net.hosts.file={}", hosts.display());
        let options: Vec<&str> = OPTIONS.iter().copied().chain([&*hosts]).collect();
        let mut command = self.instance.program.class(&options, class);
        command.arg(path);
        self.instance.start(command, self.certificates.as_ref())
    }

    /// Waits until the server serves clients.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Ended`] or [`ServerError::Silent`] if it does not.
    pub async fn until_ready(&self) -> Result<(), ServerError> {
        let ask = async || {
            self.role().await?;
            self.serves_tls().await
        };
        self.instance.until_ready(ask).await
    }

    /// Checks the TLS port, which opens a moment after the other port.
    async fn serves_tls(&self) -> Result<(), String> {
        if self.settings.tls.is_none() {
            return Ok(());
        }
        let said = self.ask("conf").await.map_err(|error| error.to_string())?;
        let line = format!("secureClientPort={}", self.secure_port.number());
        match said.lines().any(|it| it == line) {
            true => Ok(()),
            false => Err("it does not serve clients with TLS yet".to_owned()),
        }
    }

    /// Sends one of its four-letter commands. A starting server may accept one without ever replying, and a busy machine
    /// replies late, so it is repeated.
    async fn ask(&self, word: &str) -> std::io::Result<String> {
        for _ in 1..TRIES {
            if let Ok(said) = timeout(PATIENCE, self.exchange(word)).await {
                return said;
            }
        }
        timeout(PATIENCE, self.exchange(word)).await?
    }

    async fn exchange(&self, word: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(self.instance.port.address()).await?;
        stream.write_all(word.as_bytes()).await?;
        let mut said = String::new();
        stream.read_to_string(&mut said).await?;
        Ok(said)
    }
}
