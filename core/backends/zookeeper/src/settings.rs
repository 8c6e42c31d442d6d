//! Checked settings of a `ZooKeeper` backend.

use std::fmt;
use std::time::Duration;

use zookeeper_client::{Acl, Acls, AuthId, Client, CreateMode, Error, Permission};

use leasehold_core::backend::support::clock::{self, LeaseInstant};

/// The prefix of each TLS server.
pub(super) const TLS: &str = "tcp+tls://";

#[derive(Clone)]
pub(super) struct ZooKeeperSettings {
    /// `host:port,host:port`, or `tcp+tls://host:port,…`
    pub(super) servers: String,
    pub(super) is_secure: bool,
    #[cfg(feature = "tls-rustls")]
    pub(super) tls: Option<zookeeper_client::TlsOptions>,
    /// `/`, or `/path/below`: the folder that this backend uses.
    pub(super) folder: String,
    pub(super) session_timeout: Duration,
    /// The user and the password for the scheme `digest`.
    pub(super) digest: Option<(String, String)>,
    /// The schemes and ids of other users who may use the locks.
    pub(super) others: Vec<(String, String)>,
}

impl ZooKeeperSettings {
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

    /// Opens a session, and creates the folder if it does not exist. The first call returns errors immediately. Later
    /// calls retry for one session timeout.
    pub(super) async fn open(&self, first: bool) -> Result<Client, Error> {
        let mut connector = Client::connector().with_session_timeout(self.session_timeout);
        if first {
            connector = connector.with_fail_eagerly();
        }
        if let Some((user, password)) = &self.digest {
            let credentials = format!("{user}:{password}");
            connector = connector.with_auth("digest", credentials.as_bytes());
        }
        #[cfg(feature = "tls-rustls")]
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
        inside.map_err(|_whole| Error::BadArguments(&"the path is not a valid ZooKeeper path"))
    }
}

impl fmt::Debug for ZooKeeperSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeperSettings")
            .field("servers", &self.servers)
            .field("folder", &self.folder)
            .field("session_timeout", &self.session_timeout)
            .field("user", &self.digest.as_ref().map(|(user, _)| user))
            .finish_non_exhaustive()
    }
}
