//! The servers with the data, and the proxies in front of them.

use std::path::Path;

use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, RedisServer};
use tokio::try_join;

use super::cell::STORES;
use crate::BoxError;

/// The servers with the data. No fault affects them, only the links to them.
#[derive(Debug)]
#[must_use = "the servers end when this is dropped"]
pub struct Servers {
    postgres: PostgresServer,
    mariadb: MariaDbServer,
    redis: RedisServer,
}

/// The addresses of the stores.
#[derive(Debug, Clone)]
pub struct Addresses(pub Vec<(&'static str, String)>);

/// The links between the clients of one deployment and the data.
#[derive(Debug)]
#[must_use = "the links end when this is dropped"]
pub struct Links {
    links: [Proxy; 3],
    /// The addresses through the links.
    pub linked: Addresses,
    /// The addresses without the links.
    pub direct: Addresses,
}

impl Servers {
    /// Starts all servers.
    ///
    /// # Errors
    ///
    /// Returns an error if a server does not start.
    pub async fn start() -> Result<Self, BoxError> {
        let (postgres, mariadb, redis) = try_join!(
            PostgresServer::start(),
            MariaDbServer::start(),
            RedisServer::start()
        )?;
        Ok(Self {
            postgres,
            mariadb,
            redis,
        })
    }

    /// Creates links for one deployment. Its `SQLite` rows are in files in this folder, one for each kind of data,
    /// because a writer of `SQLite` locks the whole file.
    ///
    /// # Errors
    ///
    /// Returns an error if no port is free.
    pub async fn link(&self, folder: &Path, name: &str) -> Result<Links, BoxError> {
        let ports = [self.postgres.port(), self.mariadb.port(), self.redis.port()];
        let file = |suffix: &str| folder.join(format!("{name}{suffix}.db"));
        let (file, pool_file) = (file(""), file("-pool"));
        let at = |ports: [u16; 3]| {
            let [postgres, mariadb, redis] = ports;
            let postgres = format!("postgres://postgres@127.0.0.1:{postgres}/postgres");
            let mariadb = format!("mysql://root@127.0.0.1:{mariadb}/test");
            let urls = [
                postgres.clone(),
                mariadb.clone(),
                format!("sqlite://{}", file.display()),
                format!("redis://127.0.0.1:{redis}"),
                postgres,
                mariadb,
                format!("sqlite://{}", pool_file.display()),
            ];
            Addresses(STORES.into_iter().zip(urls).collect())
        };
        let links = [
            Proxy::start_bytes(ports[0]).await?,
            Proxy::start_bytes(ports[1]).await?,
            Proxy::start(ports[2]).await?,
        ];
        let linked = at([links[0].port(), links[1].port(), links[2].port()]);
        Ok(Links {
            links,
            linked,
            direct: at(ports),
        })
    }
}

impl Links {
    /// Cuts all links. Data that was sent before still arrives.
    pub fn cut(&self) {
        for link in &self.links {
            link.cut();
        }
    }
}
