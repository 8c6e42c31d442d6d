//! Fences on a Redis or Valkey server.

mod client;
mod fenced_pipeline;
mod pipeline_error;
mod redis_reply;
mod scripts;

use std::fmt;

use async_trait::async_trait;
use redis::Client;

use super::{AdmitError, FenceStore, Stale};
use crate::backend::redis::builder::{is_cluster, opened};
use crate::backend::redis::client::server_locator::ServerLocator;
use crate::backend::redis::protocol::reply::read;
use crate::backend::{BackendError, ConnectError};
use crate::{FencingToken, InvalidKey, Key};
use client::FenceClient;
pub use fenced_pipeline::{FencedPipeline, MAX_COMMAND_WORDS};
pub use pipeline_error::FencedPipelineError;
pub use redis_reply::RedisReply;

/// What stands before every resource of a store that names no prefix.
const DEFAULT_PREFIX: &str = "fence:";

/// A [`FenceStore`] on one Redis or Valkey server: the newest token of each resource outlives the processes that
/// show theirs, and is the same for all of them.
///
/// One round trip per admission, in one atomic step on the server.
///
/// # Keys
///
/// `{fence:file:report}:lh1:mark` for the resource `file:report`: the newest token, as text. It never goes down, and
/// has no TTL: a resource that is no more keeps its mark until you delete it. A deleted mark admits any token, until a
/// newer one is shown.
///
/// # What is guaranteed
///
/// A token that was admitted keeps all older ones out for as long as the server remembers it: with `appendonly yes`,
/// `appendfsync always` and `maxmemory-policy noeviction`, for ever. A server that loses its memory, or a replica
/// that is promoted before it has seen the newest mark, admits older tokens again until a newer one is shown.
///
/// Each admission writes, that of the newest token again as well: a server that takes no writes, for it was demoted or
/// lacks the replicas of `min-replicas-to-write`, admits nobody. The connection to one that was demoted is given up, once
/// a second at most: the name in the URL may lead to its successor. With Sentinels it is given up for the one that they name.
///
/// # When the server is silent
///
/// It has 2 s to answer, and before that 5 s for a new connection where there is none. All tasks of a runtime that need
/// one wait for the same, and share its failure. So an execution of a [`FencedPipeline`] ends within 7 s. An admission
/// whose connection turns out to be dead asks again on a new one, and ends within 9 s.
///
/// # Rights
///
/// The least that a user needs, with the default prefix: `~{fence:*}:lh1:mark ~fence:*:lh1:mark +hello +auth +select
/// +ping +evalsha +script|load +get +set`. The second pattern is for resources with a hash tag, as `{42}:report`.
/// With Sentinels `+role`, too.
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
    /// A store on the server at `url`: `redis://`, `rediss://` with the feature `tls-rustls`, `unix://`, or the primary that
    /// `redis+sentinel://` leads to with the feature `sentinel`, as with [`LockManager::connect`](crate::LockManager::connect).
    /// It is one server: no Cluster.
    ///
    /// # Errors
    ///
    /// [`ConnectError`] says whether the URL or the server is at fault.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future closes what was opened.
    pub async fn connect(url: &str) -> Result<Self, ConnectError> {
        if is_cluster(url) {
            return Err(ConnectError::url(
                "a fence store is on one server; connect to one that is no member of a Cluster",
            ));
        }
        Self::connect_at(ServerLocator::at(url, opened)?).await
    }

    /// A store on the server that `client` connects to: with a TLS configuration or credentials of your own.
    ///
    /// Tied to version 1 of the `redis` crate.
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect).
    pub async fn connect_client(client: Client) -> Result<Self, ConnectError> {
        let target = opened(client.get_connection_info().clone())?;
        Self::connect_at(target.into()).await
    }

    async fn connect_at(endpoint: ServerLocator) -> Result<Self, ConnectError> {
        let client = FenceClient::new(endpoint);
        let connected = client.connect().await;
        connected.map_err(|error| ConnectError::server(client.address(), error))?;
        Ok(Self {
            client,
            prefix: DEFAULT_PREFIX.into(),
        })
    }

    /// Puts another text before every resource than `fence:`.
    ///
    /// # Errors
    ///
    /// [`InvalidKey`] for a prefix that no resource can follow.
    pub fn with_prefix(mut self, prefix: &str) -> Result<Self, InvalidKey> {
        // A prefix is good if a short resource behind it is.
        Key::new(prefix, "r")?;
        self.prefix = prefix.into();
        Ok(self)
    }

    /// Commands for data on the same server, executed if `token` is not stale: see [`FencedPipeline`].
    ///
    /// # Rights
    ///
    /// The user needs those of the commands, too.
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
    /// // From here on older holders are refused.
    /// let read = store.pipeline(resource, token).cmd("GET", ["stock:42"]).execute().await?;
    /// let stock: u64 = read[0].text().unwrap_or("0").parse()?;
    ///
    /// // Refused if a newer holder has come since.
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

    fn mark(&self, resource: &str) -> Result<String, BackendError> {
        let invalid = |error: InvalidKey| {
            BackendError::not_applied("the resource has a name that no lock can have")
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
            BackendError::unknown("the server answered something that is no token")
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

/// A name with a hash tag of its own is placed by it, as a lock's companions are. It is never the tag alone: `{a}` would
/// have the mark of `a`.
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
    fn a_mark_is_named_by_prefix_and_resource() {
        let name = |resource| mark(&Key::new("fence:", resource).unwrap());
        assert_eq!(name("file:report"), "{fence:file:report}:lh1:mark");
        assert_eq!(name("{42}:report"), "fence:{42}:report:lh1:mark");
    }

    #[test]
    fn no_two_resources_have_one_mark() {
        let resources = ["a", "{a}", "{a}:b", "b:{a}", "{a", "{{a}"];
        let keys = resources.iter().filter_map(|it| Key::new("", it).ok());
        let mut marks: Vec<_> = keys.map(|it| mark(&it)).collect();
        let all = marks.len();
        marks.sort();
        marks.dedup();
        assert_eq!(marks.len(), all, "{marks:?}");
    }
}
