//! The URLs that `LockManager::connect` knows.

use leasehold_core::backend::support::schemes;
use leasehold_core::backend::{Connector, URL_BACKENDS, UrlBackend};
use linkme::distributed_slice;

use crate::ZooKeeper;

#[distributed_slice(URL_BACKENDS)]
static ZOOKEEPER: UrlBackend = UrlBackend {
    schemes: schemes::ZOOKEEPER,
    connector: |url, _options| {
        let url = url.to_owned();
        Connector::new(ZooKeeper::CAPABILITIES, move || {
            let url = url.clone();
            async move { ZooKeeper::connect(&url).await }
        })
    },
};
