//! Parses `redis+cluster://…` URLs.

use std::sync::Arc;

use redis::{ConnectionInfo, Pipeline};

use super::nodes::Cluster;
use crate::backend::ConnectError;
use crate::backend::redis::connection::target::Target;
use crate::backend::redis::multi_host_url::MultiHostUrl;
use crate::backend::redis::wait::waiter_registry::WaiterRegistry;

const SHAPE: &str = "redis+cluster://user:password@host:6379,host:6379";
const PORT: u16 = 6379;

impl Cluster {
    /// The Cluster that `url` names members of; `prepare` adds to their settings what ours are.
    pub(crate) fn at(
        url: &str,
        waiters: WaiterRegistry,
        scripts: Arc<Pipeline>,
        prepare: impl Fn(ConnectionInfo) -> Result<Target, ConnectError>,
    ) -> Result<Self, ConnectError> {
        let parts = MultiHostUrl::read(url, SHAPE)?;
        parts.finish()?;
        if !matches!(parts.path, "" | "0") {
            let refused = format!("a Cluster has no databases; it should look like {SHAPE}");
            return Err(ConnectError::url(refused));
        }
        let seeds = parts.servers(PORT, "")?.into_iter().map(prepare);
        let seeds: Vec<_> = seeds.collect::<Result<_, _>>()?;
        Self::new(&seeds, waiters, scripts).ok_or_else(|| ConnectError::url(SHAPE))
    }
}
