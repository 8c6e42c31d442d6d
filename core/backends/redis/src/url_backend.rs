//! The URLs that `LockManager::connect` knows.

use leasehold_core::backend::support::schemes;
use leasehold_core::backend::{ConnectOptions, Connector, URL_BACKENDS, UrlBackend};
use linkme::distributed_slice;

use crate::Redis;
use crate::redlock::Redlock;

#[distributed_slice(URL_BACKENDS)]
static REDIS: UrlBackend = UrlBackend {
    schemes: schemes::REDIS,
    connector: redis,
};

#[distributed_slice(URL_BACKENDS)]
static REDLOCK: UrlBackend = UrlBackend {
    schemes: schemes::REDLOCK,
    connector: redlock,
};

fn redis(url: &str, options: &ConnectOptions) -> Connector {
    let mut redis = Redis::builder();
    if let Some(label) = &options.label {
        redis = redis.client_name(label.as_str());
    }
    let url = url.to_owned();
    Connector::new(redis.capabilities(), move || {
        let (redis, url) = (redis.clone(), url.clone());
        async move { redis.connect(&url).await }
    })
}

fn redlock(url: &str, options: &ConnectOptions) -> Connector {
    let mut nodes = Redlock::new(nodes(url));
    if let Some(label) = &options.label {
        nodes = nodes.client_name(label.as_str());
    }
    Connector::new(nodes.capabilities(), move || {
        let nodes = nodes.clone();
        async move { nodes.connect().await }
    })
}

/// Returns the URLs of the nodes that one URL lists.
fn nodes(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let (authority, path) = match rest.find('/') {
        Some(slash) => rest.split_at(slash),
        None => (rest, ""),
    };
    let (login, hosts) = match authority.rfind('@') {
        Some(at) => authority.split_at(at + 1),
        None => ("", authority),
    };
    let hosts = hosts.split(',');
    hosts
        .map(|host| format!("redis://{login}{host}{path}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn almost_valid_redlock_urls_name_only_redis_nodes() {
        let urls = ["redlock://me:p%40s@a,[::1]:7/3", "redlock://a"];
        leasehold_testkit::almost_valid::try_on(&urls, |url| {
            assert!(nodes(url).iter().all(|node| node.starts_with("redis://")));
        });
    }

    #[test]
    fn a_redlock_url_is_split_into_one_url_per_node() {
        assert_eq!(nodes("redlock://a,b:7"), ["redis://a", "redis://b:7"]);
        assert_eq!(
            nodes("redlock://me:p%40s@a,[::1]:7/3"),
            ["redis://me:p%40s@a/3", "redis://me:p%40s@[::1]:7/3"]
        );
    }
}
