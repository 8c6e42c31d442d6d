//! A test Sentinel.

use std::fs;

use super::certificates::{AUTHORITY, Certificates, SERVER, SERVER_KEY};
use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::redis::RedisServer;
use crate::install;
use crate::resp::{RawClient, RespError, Value};

/// The name of the primary.
pub(super) const NAME: &str = "mymaster";

/// The time after which a server without a reply is down, in milliseconds, while no test has broken a server. A busy
/// machine may not run a server for half a second.
pub(super) const CALM: &str = "60000";

const SETTINGS: &str = "sentinel.conf";

/// The intervals of the Sentinels in milliseconds, as short as possible. A Sentinel demotes a promoted replica if it
/// gets no news for four publications, so these intervals must be longer than a promotion. A Sentinel that did not run
/// for two seconds ignores everything for half a minute by default, and test machines are busy.
const PERIODS: [&str; 10] = [
    "info-period",
    "100",
    "ask-period",
    "100",
    "publish-period",
    "400",
    "ping-period",
    "300",
    "tilt-period",
    "1000",
];

/// A Sentinel on a free port, run by `redis-server`. It is killed when this value is dropped.
#[derive(Debug)]
#[must_use = "the Sentinel is killed when this is dropped"]
pub struct SentinelServer {
    instance: Instance,
    password: Option<String>,
    certificates: Option<Certificates>,
}

is_instance!(SentinelServer);

impl SentinelServer {
    pub(super) async fn start(
        primary: u16,
        passwords: Option<(&str, &str)>,
    ) -> Result<Self, ServerError> {
        Self::start_with(primary, passwords, None).await
    }

    /// Starts a Sentinel that only accepts TLS. It uses the certificates of the server that it monitors, and requires a
    /// client certificate.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RedisServer::start`].
    pub async fn start_beside(primary: &RedisServer) -> Result<Self, ServerError> {
        Self::start_with(primary.port(), None, primary.certificates().cloned()).await
    }

    async fn start_with(
        primary: u16,
        passwords: Option<(&str, &str)>,
        certificates: Option<Certificates>,
    ) -> Result<Self, ServerError> {
        let sentinel = Self {
            instance: Instance::prepare(&install::REDIS)?,
            password: passwords.map(|(_, own)| own.to_owned()),
            certificates,
        };
        let settings = sentinel.instance.folder.path().join(SETTINGS);
        let text = sentinel.settings(primary, passwords);
        fs::write(&settings, text).map_err(|source| ServerError::Folder {
            path: settings,
            source,
        })?;
        sentinel.launch().await?;
        Ok(sentinel)
    }

    /// Kills the Sentinel, and restarts it on the same port with its state.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`RedisServer::start`].
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch().await
    }

    /// Returns a raw client.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Client`] if the Sentinel does not reply.
    pub async fn client(&self) -> Result<RawClient, ServerError> {
        Ok(self.connect().await?)
    }

    async fn connect(&self) -> Result<RawClient, RespError> {
        let mut client = match &self.certificates {
            None => RawClient::connect(&self.instance.port.address().to_string()).await?,
            // The unix socket does not use TLS.
            Some(_) => RawClient::connect_unix(&self.instance.folder.socket()).await?,
        };
        if let Some(password) = &self.password {
            client.command(["AUTH", password]).await?;
        }
        Ok(client)
    }

    /// Returns whether the Sentinel has found this number of other Sentinels and replicas, and no failure.
    pub(super) async fn knows(&self, others: usize, replicas: usize) -> Result<bool, ServerError> {
        let mut client = self.client().await?;
        let told = client.command(["SENTINEL", "MASTER", NAME]).await?;
        let field = |name: &str| {
            let mut pairs = told.items().chunks(2);
            let pair = pairs.find(|pair| pair[0].text() == Some(name));
            pair.and_then(|pair| pair.get(1)).and_then(Value::text)
        };
        if field("flags") != Some("master")
            || field("num-other-sentinels") != Some(&others.to_string())
            || field("num-slaves") != Some(&replicas.to_string())
        {
            return Ok(false);
        }
        // Until a replica has answered, a Sentinel refuses a failover.
        let told = client.command(["SENTINEL", "REPLICAS", NAME]).await?;
        Ok(told.items().iter().all(|replica| {
            let mut pairs = replica.items().chunks(2);
            pairs.any(|pair| {
                pair[0].text() == Some("master-link-status") && pair[1].text() == Some("ok")
            })
        }))
    }

    /// Returns the port of the primary, as known by the Sentinel.
    pub(super) async fn primary(&self) -> Result<Option<u16>, ServerError> {
        let ask = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
        let told = self.client().await?.command(ask).await?;
        let port = told.items().get(1).and_then(Value::int);
        Ok(port.and_then(|port| port.try_into().ok()))
    }

    /// Makes the Sentinel replace the primary by a replica without asking the other Sentinels.
    pub(super) async fn fail_over(&self) -> Result<(), ServerError> {
        let ask = ["SENTINEL", "FAILOVER", NAME];
        match self.client().await?.command(ask).await {
            // An error means that a failover is already running.
            Ok(_) | Err(RespError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sets after which time a server without a reply is down, in milliseconds.
    pub(super) async fn down_after(&self, millis: &str) -> Result<(), ServerError> {
        let set = ["SENTINEL", "SET", NAME, "down-after-milliseconds", millis];
        self.client().await?.command(set).await?;
        Ok(())
    }

    fn settings(&self, primary: u16, passwords: Option<(&str, &str)>) -> String {
        let mut text = format!(
            "bind 127.0.0.1\n{}\ndir {}\n\
             sentinel monitor {NAME} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {NAME} {CALM}\n\
             sentinel failover-timeout {NAME} 60000\n",
            self.ports(),
            self.instance.folder.path().display(),
        );
        if let Some((servers, own)) = passwords {
            text.push_str(&format!(
                "sentinel auth-pass {NAME} {servers}\nrequirepass {own}\nsentinel sentinel-pass {own}\n"
            ));
        }
        text
    }

    fn ports(&self) -> String {
        let port = self.port();
        if self.certificates.is_none() {
            return format!("port {port}");
        }
        let file = |name: &str| self.instance.folder.path().join(name).display().to_string();
        format!(
            "port 0\ntls-port {port}\nunixsocket {}\ntls-replication yes\ntls-auth-clients yes\n\
             tls-ca-cert-file {}\ntls-cert-file {}\ntls-key-file {}",
            self.instance.folder.socket().display(),
            file(AUTHORITY),
            file(SERVER),
            file(SERVER_KEY)
        )
    }

    async fn launch(&self) -> Result<(), ServerError> {
        let mut command = self.instance.program.command();
        command
            .arg(self.instance.folder.path().join(SETTINGS))
            .arg("--sentinel");
        self.instance.start(command, self.certificates.as_ref())?;
        let ask = async || {
            let answer = async { self.connect().await?.command(["PING"]).await };
            answer.await.map(drop).map_err(|it| it.to_string())
        };
        self.instance.until_ready(ask).await?;
        let mut debug = vec!["SENTINEL", "DEBUG"];
        debug.extend(PERIODS);
        self.client().await?.command(debug).await?;
        Ok(())
    }
}
