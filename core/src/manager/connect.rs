use super::locks::LockManager;
use crate::ConnectError;
use crate::backend::redis::Redis;

impl LockManager {
    /// Locks on the backend at `url`, with the default options.
    ///
    /// | URL | backend |
    /// |---|---|
    /// | `redis://user:password@host:port/database` | one Redis or Valkey server |
    /// | `rediss://…` | the same over TLS, with the feature `tls-rustls` |
    /// | `unix:///path?db=0` | the same over a unix socket |
    /// | `redis+sentinel://user:password@host,host/master-name/database` | the primary that these Sentinels name, with the feature `sentinel` |
    /// | `redis+cluster://user:password@host,host` | a Redis Cluster with these members, with the feature `cluster` |
    ///
    /// For other options, and for certificates of your own, see [`Redis::builder`].
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says what is wrong, and what to do.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn connect() -> Result<(), leasehold::Error> {
    /// let locks = leasehold::LockManager::connect("redis://127.0.0.1").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        let scheme = url.split_once("://").map_or(url, |(scheme, _)| scheme);
        match scheme {
            "redis" | "rediss" | "valkey" | "valkeys" | "unix" | "redis+unix" | "valkey+unix"
            | "redis+sentinel" | "rediss+sentinel" | "valkey+sentinel" | "valkeys+sentinel"
            | "redis+cluster" | "rediss+cluster" | "valkey+cluster" | "valkeys+cluster" => {
                Ok(Self::new(Redis::connect(url).await?))
            }
            _ => Err(ConnectError::UnknownScheme {
                scheme: scheme.chars().take(32).collect(),
            }),
        }
    }
}
