//! The settings of a `ZooKeeper` server.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::certificates::{AUTHORITY, Certificates, SERVER_STORE};
use super::error::ServerError;
use super::settings::Tls;

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) tick: Duration,
    pub(super) longest_session: Duration,
    pub(super) sync_limit: u32,
    pub(super) tls: Option<Tls>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(200),
            longest_session: Duration::from_secs(20),
            sync_limit: 5,
            tls: None,
        }
    }
}

impl Settings {
    /// Creates new certificates, if the server uses TLS.
    pub(super) fn certificates(&self) -> Result<Option<Certificates>, ServerError> {
        Ok(match self.tls {
            Some(_) => Some(Certificates::make()?),
            None => None,
        })
    }

    pub(super) fn lines(&self) -> String {
        let mut lines = String::new();
        for (name, value) in [
            ("tickTime", self.tick.as_millis()),
            ("maxSessionTimeout", self.longest_session.as_millis()),
            ("syncLimit", self.sync_limit.into()),
            ("initLimit", 50),
            ("maxClientCnxns", 0),
        ] {
            // Writing to a string cannot fail.
            let _written = writeln!(lines, "{name}={value}");
        }
        lines += "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=srvr,conf\n";
        lines
    }
}

/// Returns the configuration lines for a second port with TLS, which uses the certificate files in the folder.
pub(super) fn tls_lines(tls: Tls, port: u16, folder: &Path) -> String {
    let client_auth = match tls {
        Tls::ServerOnly => "none",
        Tls::Mutual => "need",
    };
    let store = folder.join(SERVER_STORE);
    let authority = folder.join(AUTHORITY);
    format!(
        "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory\n\
         secureClientPort={port}\nsecureClientPortAddress=127.0.0.1\n\
         ssl.keyStore.type=PEM\nssl.keyStore.location={}\n\
         ssl.trustStore.type=PEM\nssl.trustStore.location={}\nssl.clientAuth={client_auth}\n",
        store.display(),
        authority.display(),
    )
}
