use std::fmt;

use zookeeper_client::{Acls, Client, CreateMode, Error};

use super::Contestant;
use crate::BoxError;

const FOLDER: &str = "/bench-by-hand";

/// The lock recipe of the `ZooKeeper` documentation, on the library's client crate: a sequential ephemeral node, a watch
/// on the node before it, and a delete. All tasks share one session, as in the library. It does not have a loss signal,
/// and does not clean up after a cancelled acquire.
#[derive(Clone)]
pub(crate) struct ZooKeeperRecipe {
    client: Client,
}

impl ZooKeeperRecipe {
    /// Connects to a URL of the library.
    pub(super) async fn enter(url: &str) -> Result<Self, BoxError> {
        let address = url.trim_start_matches("zookeeper://");
        let (servers, _folder) = address.split_once('/').unwrap_or((address, ""));
        let client = Client::connect(servers).await?;
        match client
            .create(
                FOLDER,
                b"",
                &CreateMode::Persistent.with_acls(Acls::anyone_all()),
            )
            .await
        {
            Ok(_) | Err(Error::NodeExists) => Ok(Self { client }),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a node in the queue of the key, and the queue if necessary. Returns the name of the node.
    async fn create(&self, queue: &str) -> Result<String, BoxError> {
        let acls = Acls::anyone_all();
        let sequential = CreateMode::EphemeralSequential.with_acls(acls);
        loop {
            let prefix = format!("{queue}/lock-");
            match self.client.create(&prefix, b"", &sequential).await {
                Ok((_, number)) => return Ok(format!("lock-{number}")),
                Err(Error::NoNode) => {}
                Err(error) => return Err(error.into()),
            }
            let container = CreateMode::Container.with_acls(acls);
            match self.client.create(queue, b"", &container).await {
                Ok(_) | Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Contestant for ZooKeeperRecipe {
    /// The path of the node.
    type Held = String;

    async fn acquire(&self, key: &str) -> Result<String, BoxError> {
        let queue = format!("{FOLDER}/{key}");
        let own = self.create(&queue).await?;
        loop {
            let names = self.client.list_children(&queue).await?;
            let before = names.into_iter().filter(|name| *name < own).max();
            let Some(before) = before else {
                return Ok(format!("{queue}/{own}"));
            };
            let path = format!("{queue}/{before}");
            let (exists, watcher) = self.client.check_and_watch_stat(&path).await?;
            if exists.is_some() {
                watcher.changed().await;
            }
        }
    }

    async fn release(&self, path: String) -> Result<(), BoxError> {
        Ok(self.client.delete(&path, None).await?)
    }
}

impl fmt::Debug for ZooKeeperRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeperRecipe").finish_non_exhaustive()
    }
}
