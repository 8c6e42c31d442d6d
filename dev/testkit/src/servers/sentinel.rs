//! A Sentinel of our own.

use std::fs;

use super::certificates::{AUTHORITY, Certificates, SERVER, SERVER_KEY};
use super::error::ServerError;
use super::instance::{Instance, is_instance};
use super::redis::RedisServer;
use crate::install;
use crate::resp::{RawClient, RespError, Value};

/// What the primary is called.
pub(super) const NAME: &str = "mymaster";

const SETTINGS: &str = "sentinel.conf";

/// How often they ask and tell, in milliseconds: as often as still works. One that has been told nothing for four
/// publications makes a promoted replica a replica again, so these must outlast a promotion. One that was not run for two
/// seconds trusts nothing it sees for half a minute, unless told otherwise: test machines are busy.
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

/// A Sentinel on a free port, which is a `redis-server` too. It is killed when this is dropped.
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

    /// One that speaks TLS only, with the certificates of the server that it watches over, and asks for the client's.
    ///
    /// # Errors
    ///
    /// As of [`RedisServer::start`].
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

    /// Kills it and starts it again, on the same port. It knows what it knew.
    ///
    /// # Errors
    ///
    /// As of [`RedisServer::start`].
    pub async fn restart(&self) -> Result<(), ServerError> {
        self.kill();
        self.launch().await
    }

    /// A raw client.
    ///
    /// # Errors
    ///
    /// [`ServerError::Client`] if it does not answer.
    pub async fn client(&self) -> Result<RawClient, ServerError> {
        Ok(self.connect().await?)
    }

    async fn connect(&self) -> Result<RawClient, RespError> {
        let mut client = match &self.certificates {
            None => RawClient::connect(&self.instance.port.address().to_string()).await?,
            // It speaks no TLS there.
            Some(_) => RawClient::connect_unix(&self.instance.folder.socket()).await?,
        };
        if let Some(password) = &self.password {
            client.command(["AUTH", password]).await?;
        }
        Ok(client)
    }

    /// Whether it has found so many others and replicas, and all is well.
    pub(super) async fn knows(&self, others: usize, replicas: usize) -> Result<bool, ServerError> {
        let mut client = self.client().await?;
        let told = client.command(["SENTINEL", "MASTER", NAME]).await?;
        let field = |name: &str| {
            let mut pairs = told.items().chunks(2);
            let pair = pairs.find(|pair| pair[0].text() == Some(name));
            pair.and_then(|pair| pair.get(1)).and_then(Value::text)
        };
        Ok(field("flags") == Some("master")
            && field("num-other-sentinels") == Some(&others.to_string())
            && field("num-slaves") == Some(&replicas.to_string()))
    }

    /// The port of the primary, as it knows.
    pub(super) async fn primary(&self) -> Result<Option<u16>, ServerError> {
        let ask = ["SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME];
        let told = self.client().await?.command(ask).await?;
        let port = told.items().get(1).and_then(Value::int);
        Ok(port.and_then(|port| port.try_into().ok()))
    }

    /// Has it put a replica in the primary's place without asking the others.
    pub(super) async fn fail_over(&self) -> Result<(), ServerError> {
        let ask = ["SENTINEL", "FAILOVER", NAME];
        match self.client().await?.command(ask).await {
            // One is on its way.
            Ok(_) | Err(RespError::Refused(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn settings(&self, primary: u16, passwords: Option<(&str, &str)>) -> String {
        let mut text = format!(
            "bind 127.0.0.1\n{}\ndir {}\n\
             sentinel monitor {NAME} 127.0.0.1 {primary} 2\n\
             sentinel down-after-milliseconds {NAME} 500\n\
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
