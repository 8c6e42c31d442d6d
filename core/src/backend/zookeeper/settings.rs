//! Checked settings of a `ZooKeeper` backend.

use std::fmt;
use std::time::Duration;

use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Error, Permission};

use crate::clock::{self, LeaseInstant};

/// Before each server that is to speak it.
pub(super) const TLS: &str = "tcp+tls://";

#[derive(Clone)]
pub(super) struct Settings {
    /// `host:port,host:port`, or `tcp+tls://host:port,…`
    pub(super) servers: String,
    pub(super) is_secure: bool,
    #[cfg(feature = "zookeeper-tls")]
    pub(super) tls: Option<zookeeper_client::TlsOptions>,
    /// `/`, or `/path/below`: all that this backend does is in it.
    pub(super) folder: String,
    pub(super) session_timeout: Duration,
    /// User and password.
    pub(super) digest: Option<(String, String)>,
    /// Schemes and ids of others who may use the locks.
    pub(super) others: Vec<(String, String)>,
}

impl Settings {
    /// `host:port,host:port`
    pub(super) fn address(&self) -> String {
        self.servers.replace(TLS, "")
    }

    pub(super) fn acl(&self) -> Vec<Acl> {
        let own = self.digest.as_ref().map(|_| AuthId::authed());
        let others = self
            .others
            .iter()
            .map(|(scheme, id)| AuthId::new(scheme, id));
        let mut all: Vec<AuthId> = own.into_iter().chain(others).collect();
        if all.is_empty() {
            all.push(AuthId::anyone());
        }
        all.into_iter()
            .map(|id| Acl::new(Permission::ALL, id))
            .collect()
    }

    /// Opens a session, and makes the folder unless it is there. The first time it says at once what is wrong; later it
    /// tries for as long as a session lasts, and goes on where it is called.
    pub(super) async fn open(&self, first: bool) -> Result<Client, Error> {
        let mut connector = Client::connector().with_session_timeout(self.session_timeout);
        if first {
            connector = connector.with_fail_eagerly();
        }
        if let Some((user, password)) = &self.digest {
            let credentials = format!("{user}:{password}");
            connector = connector.with_auth("digest", credentials.as_bytes());
        }
        #[cfg(feature = "zookeeper-tls")]
        if let Some(tls) = &self.tls {
            connector = connector.with_tls(tls.clone());
        }
        let client = connector.connect(&self.servers).await?;
        let limit = clock::sleep_until(LeaseInstant::now().after(client.session_timeout()));
        tokio::select! {
            inside = self.in_folder(client) => inside,
            () = limit => Err(Error::Timeout),
        }
    }

    async fn in_folder(&self, client: Client) -> Result<Client, Error> {
        if self.folder == "/" {
            return Ok(client);
        }
        if client.check_stat(&self.folder).await?.is_none() {
            let acl = self.acl();
            let options = CreateMode::Persistent.with_acls(Acls::new(&acl));
            client.mkdir(&self.folder, &options).await?;
        }
        let inside = client.chroot(&*self.folder);
        inside.map_err(|_whole| Error::BadArguments(&"the path is none of ZooKeeper's"))
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("servers", &self.servers)
            .field("folder", &self.folder)
            .field("session_timeout", &self.session_timeout)
            .field("user", &self.digest.as_ref().map(|(user, _)| user))
            .finish_non_exhaustive()
    }
}
