//! Fences on a Redis or Valkey server.

mod fence_client;
mod fenced_pipeline;
mod pipeline_error;
mod redis_reply;
mod scripts;

use std::fmt;

use async_trait::async_trait;

use crate::builder::{is_cluster, opened};
use crate::client::server_locator::ServerLocator;
use crate::protocol::reply::read;
use crate::{IntoClient, Redis, RedisBuilder};
use fence_client::FenceClient;
pub use fenced_pipeline::{FencedPipeline, MAX_COMMAND_ARGS};
use leasehold_core::FenceStore;
use leasehold_core::backend::{BackendError, ConnectError};
use leasehold_core::{AdmitError, Error, FencingToken, InvalidKey, Key, Stale, current_lock};
pub use pipeline_error::FencedPipelineError;
pub use redis_reply::RedisReply;

/// The default prefix of every resource.
const DEFAULT_PREFIX: &str = "fence:";

/// A [`FenceStore`] on one Redis or Valkey server. All processes that use the store share the newest token of each
/// resource. The token survives their restarts.
///
/// Each admission is one round trip and one atomic step on the server.
///
/// # Keys
///
/// `{fence:file:report}:lh1:mark` for the resource `file:report`: the newest token, as text. The token never decreases.
/// The key does not have a TTL: it stays until you delete it, even after the resource has been removed. After the
/// deletion the store admits any token, and then rejects tokens older than that token.
///
/// # What is guaranteed
///
/// After a token was admitted, all older tokens are rejected as long as the server remembers it. The server remembers
/// it forever with `appendonly yes`, `appendfsync always` and `maxmemory-policy noeviction`. A server that loses its
/// memory admits older tokens again until a newer token is used. A replica that is promoted before it has the newest
/// token does the same.
///
/// Each admission writes, even if the token is the newest already. So a server that rejects writes admits no token.
/// Such a server was demoted, or lacks the replicas of `min-replicas-to-write`. The client closes the connection to a
/// demoted server, at most once a second, because the name in the URL may resolve to the new primary. With Sentinels
/// the client connects to the primary that they report.
///
/// # When the server does not respond
///
/// The server has 2 s to reply. If no connection is open, connecting may take up to 5 s before that. All tasks of a
/// runtime that need a connection wait for the same connect, and receive its error if it fails. So an execution of a
/// [`FencedPipeline`] ends within 7 s. If the connection turns out to be broken, an admission retries on a new
/// connection, and ends within 9 s.
///
/// # Permissions
///
/// A user needs at least these permissions, with the default prefix: `~{fence:*}:lh1:mark ~fence:*:lh1:mark +hello
/// +auth +select +ping +evalsha +script|load +get +set`. The second pattern is for resources with a hash tag, such as
/// `{42}:report`. With Sentinels the user also needs `+role`.
///
/// # Examples
///
/// ```no_run
/// # async fn admit(guard: leasehold::LockGuard) -> Result<(), leasehold::Error> {
/// use leasehold::{FenceStore, RedisFenceStore};
///
/// let fences = RedisFenceStore::connect("redis://127.0.0.1").await?;
/// fences.admit("file:report", guard.token()).await?;
/// # Ok(())
/// # }
/// ```
pub struct RedisFenceStore {
    client: FenceClient,
    prefix: Box<str>,
}

impl RedisFenceStore {
    /// Connects to the server at `url`: `redis://`, `rediss://` with the feature `tls-rustls`, `unix://`, or
    /// `redis+sentinel://`, which names a primary, like [`LockManager::connect`](leasehold_core::LockManager::connect). The URL
    /// must name one server, not a Cluster.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Connect`], which states whether the URL or the server is the cause.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes the connections it opened.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(&Redis::builder(), url).await
    }

    /// Connects as [`connect`](Self::connect) does, with the certificates, the TCP settings and the credentials
    /// provider of `builder`. The other settings of `builder` do not apply to a fence store.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`connect`](Self::connect).
    pub async fn connect_with(builder: &RedisBuilder, url: &str) -> Result<Self, Error> {
        if is_cluster(url) {
            return Err(ConnectError::url(
                "a fence store needs a single server; connect to one that is not a member of a Cluster",
            )
            .into());
        }
        Self::connect_at(builder.locate(url)?).await
    }

    /// Connects as `client` does: with your own TLS configuration or credentials.
    ///
    /// This method depends on version 1 of the `redis` crate.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`connect`](Self::connect).
    pub async fn connect_client(client: impl IntoClient) -> Result<Self, Error> {
        let client = client.into_client();
        let target = opened(client.get_connection_info().clone())?;
        Self::connect_at(target.into()).await
    }

    async fn connect_at(endpoint: ServerLocator) -> Result<Self, Error> {
        let client = FenceClient::new(endpoint);
        let connected = client.connect().await;
        connected.map_err(|error| ConnectError::server(client.address(), error))?;
        Ok(Self {
            client,
            prefix: DEFAULT_PREFIX.into(),
        })
    }

    /// Sets the prefix of every resource; the default is `fence:`.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidKey`] if the prefix is invalid.
    pub fn with_prefix(mut self, prefix: &str) -> Result<Self, InvalidKey> {
        // A prefix is valid if it makes a valid key together with a short resource.
        Key::new(prefix, "r")?;
        self.prefix = prefix.into();
        Ok(self)
    }

    /// Returns a pipeline of commands on the same server. The commands are executed only if `token` is not stale; see
    /// [`FencedPipeline`].
    ///
    /// # Permissions
    ///
    /// The user also needs the permissions for the commands.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn sell(guard: leasehold::LockGuard) -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::RedisFenceStore;
    ///
    /// let store = RedisFenceStore::connect("redis://127.0.0.1").await?;
    /// let (resource, token) = ("item:42", guard.token());
    ///
    /// // From here on older holders are rejected.
    /// let read = store.pipeline(resource, token).cmd("GET", ["stock:42"]).execute().await?;
    /// let stock: u64 = read[0].text().unwrap_or("0").parse()?;
    ///
    /// // The server rejects this pipeline if a newer holder has come since.
    /// store
    ///     .pipeline(resource, token)
    ///     .cmd("SET", ["stock:42", &(stock - 1).to_string()])
    ///     .cmd("RPUSH", ["sold:42", "Ada"])
    ///     .execute()
    ///     .await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn pipeline(&self, resource: impl Into<String>, token: FencingToken) -> FencedPipeline<'_> {
        let resource = resource.into();
        FencedPipeline::new(&self.client, self.mark(&resource), resource, token)
    }

    /// Returns a pipeline under the token of the [current lock](leasehold_core::current_lock): see [`pipeline`](Self::pipeline).
    ///
    /// # Errors
    ///
    /// Returns [`Error::NoCurrentLock`] if the task holds no lock with a token, and [`Error::Lost`] if the lock was
    /// lost. Sends nothing in these cases.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// # async fn sell(locks: leasehold::LockManager) -> Result<(), Box<dyn std::error::Error>> {
    /// use leasehold::RedisFenceStore;
    ///
    /// /// Runs under the lock of its caller.
    /// async fn sell_one(store: &RedisFenceStore) -> Result<(), Box<dyn std::error::Error>> {
    ///     store.current_pipeline("item:42")?.cmd("DECR", ["stock:42"]).execute().await?;
    ///     Ok(())
    /// }
    ///
    /// let store = RedisFenceStore::connect("redis://127.0.0.1").await?;
    /// locks.lock("item:42").run(async |_| Ok::<_, leasehold::Error>(sell_one(&store).await)).await??;
    /// # Ok(())
    /// # }
    /// ```
    pub fn current_pipeline(
        &self,
        resource: impl Into<String>,
    ) -> Result<FencedPipeline<'_>, Error> {
        let lock = current_lock()?;
        lock.check()?;
        Ok(self.pipeline(resource, lock.token()))
    }

    fn mark(&self, resource: &str) -> Result<String, BackendError> {
        let invalid = |error: InvalidKey| {
            BackendError::not_applied("the resource's name is invalid")
                .permanent()
                .with_source(error)
        };
        Ok(mark(&Key::new(&self.prefix, resource).map_err(invalid)?))
    }

    async fn newest(
        &self,
        resource: &str,
        token: FencingToken,
    ) -> Result<FencingToken, BackendError> {
        let mark = self.mark(resource)?;
        let admit = scripts::ADMIT.call(&[&mark], &[&token.to_string()]);
        let newest: String = read(self.client.call_at_most_twice(&admit).await?)?;
        newest.parse().map_err(|error| {
            BackendError::unknown("unexpected reply of the fence script: not a token")
                .with_source(error)
        })
    }
}

#[async_trait]
impl FenceStore for RedisFenceStore {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<(), AdmitError> {
        match self.newest(resource, token).await {
            Ok(newest) if newest == token => Ok(()),
            Ok(current) => Err(Stale { token, current }.into()),
            Err(source) => Err(AdmitError::Store {
                resource: resource.to_owned(),
                source: source.into(),
            }),
        }
    }
}

impl fmt::Debug for RedisFenceStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RedisFenceStore")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

/// Returns the key where a resource's token is recorded. If the name contains a hash tag, that tag decides the slot,
/// like in a lock's auxiliary keys. A resource cannot consist of a tag only, because `{a}` would have the same key as
/// `a`.
fn mark(resource: &Key) -> String {
    let full = resource.full();
    if full.contains('}') {
        format!("{full}:lh1:mark")
    } else {
        format!("{{{full}}}:lh1:mark")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_last_seen_token_contains_prefix_and_resource() {
        let name = |resource| mark(&Key::new("fence:", resource).unwrap());
        assert_eq!(name("file:report"), "{fence:file:report}:lh1:mark");
        assert_eq!(name("{42}:report"), "fence:{42}:report:lh1:mark");
    }

    #[test]
    fn different_resources_have_different_last_seen_token_keys() {
        let resources = ["a", "{a}", "{a}:b", "b:{a}", "{a", "{{a}"];
        let keys = resources.iter().filter_map(|it| Key::new("", it).ok());
        let mut marks: Vec<_> = keys.map(|it| mark(&it)).collect();
        let all = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), all, "{marks:?}");
    }
}
