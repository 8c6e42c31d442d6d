//! A `ZooKeeper` server of our own.

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

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_millis(500);

/// Ready sooner than with the compiler that is made for the long run.
const OPTIONS: &[&str] = &[
    "-Xmx192m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    "-Dzookeeper.forceSync=no",
    // Or those who look for a leader are silent for up to a minute.
    "-Dzookeeper.fastleader.maxNotificationInterval=400",
    "-Dzookeeper.cnxTimeout=500",
    // Or one that the others did not elect after all waits for them all of `initLimit`, and may do so again and again.
    "-Dzookeeper.leader.maxTimeToWaitForEpoch=1000",
    "-Dzookeeper.jmx.log4j.disable=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/// A `ZooKeeper` server on a free port, alone or one of an ensemble, with a folder of its own. It is killed when this
/// is dropped, and when the test process ends in whatever way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct ZooKeeperServer {
    instance: Instance,
    settings: Settings,
    certificates: Option<Certificates>,
    /// Who it is in an ensemble, and the lines that name the others.
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

    /// Its address for clients: `127.0.0.1:37123`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port())
    }

    /// Its address for clients that speak TLS, if it does.
    #[must_use]
    pub fn secure_address(&self) -> Option<String> {
        let port = self.secure_port.number();
        self.settings.tls.map(|_| format!("127.0.0.1:{port}"))
    }

    /// What its clients need, if it speaks TLS.
    #[must_use]
    pub fn certificates(&self) -> Option<&Certificates> {
        self.certificates.as_ref()
    }

    /// What it is now: `standalone`, `leader` or `follower`.
    ///
    /// # Errors
    ///
    /// What it says instead, if it serves nobody.
    pub async fn role(&self) -> Result<String, String> {
        let said = self.ask("srvr").await.map_err(|error| error.to_string())?;
        let role = said.lines().find_map(|line| line.strip_prefix("Mode: "));
        role.map(str::to_owned)
            .ok_or_else(|| said.trim().to_owned())
    }

    /// Kills it and starts it again, on the same port and with its data.
    ///
    /// # Errors
    ///
    /// Those of a start.
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
        // It asks for the names of all addresses, and a machine without a name server waits for seconds each time.
        let hosts = self.instance.folder.path().join(HOSTS);
        std::fs::write(&hosts, "127.0.0.1 localhost\n").map_err(at)?;
        let hosts = format!("-Djdk.net.hosts.file={}", hosts.display());
        let options: Vec<&str> = OPTIONS.iter().copied().chain([&*hosts]).collect();
        let mut command = self.instance.program.class(&options, class);
        command.arg(path);
        self.instance.start(command, self.certificates.as_ref())
    }

    /// Waits until it serves clients.
    ///
    /// # Errors
    ///
    /// [`ServerError::Ended`] or [`ServerError::Silent`] if it does not come to that.
    pub async fn until_ready(&self) -> Result<(), ServerError> {
        let ask = async || {
            self.role().await?;
            self.serves_tls().await
        };
        self.instance.until_ready(ask).await
    }

    /// It serves those with TLS a moment after those without.
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

    /// One of its four letter words. While it starts, it may take one and never answer.
    async fn ask(&self, word: &str) -> std::io::Result<String> {
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
