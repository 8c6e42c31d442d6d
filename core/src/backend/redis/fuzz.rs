//! Almost valid URLs and keys for the tests of parsers.

#![cfg(test)]

#[cfg(any(feature = "sentinel", feature = "cluster"))]
use super::builder::opened;
use super::keys::{KeyBuilder, LockKeys, NodeKeys};
use super::url;
use crate::backend::fuzz::try_on;
use crate::{Key, OwnerId};

const URLS: [&str; 6] = [
    "redis://user:p%40ss@host:6379/3?protocol=resp3",
    "valkey://[::1]:6379",
    "unix:///run/redis.sock?db=2&user=u&pass=p",
    "redis+cluster://user:password@a:1,b,[::1]:7",
    "redis+sentinel://u:p@a:26379,b/name/3?sentinel_username=x&sentinel_password=y",
    "rediss://host/0#insecure",
];

#[test]
fn garbled_addresses_are_read_or_refused() {
    try_on(&URLS, |text| {
        let _read = url::one(text);
        #[cfg(feature = "sentinel")]
        drop(super::sentinel::Sentinels::at(text, opened));
        #[cfg(feature = "cluster")]
        drop(super::cluster::Cluster::at(
            text,
            super::WaiterRegistry::sharded(),
            std::sync::Arc::default(),
            opened,
        ));
    });
}

#[test]
fn garbled_keys_are_refused_or_have_their_companions_beside_them() {
    let names = ["order:42", "{42}:order", "order:{42}", "a{b", "lock:ü", "x"];
    try_on(&names, |name| {
        for prefix in ["", "lock:", "{shop}:"] {
            let Ok(key) = Key::new(prefix, name) else {
                continue;
            };
            assert_eq!(key.full(), [prefix, name].concat());
            let owner = OwnerId::random();
            let (names, at_node) = (LockKeys::of(&key), NodeKeys::of(&key, owner));
            let mut all: Vec<String> = names.all().map(ToOwned::to_owned).into();
            all.extend(at_node.all().map(ToOwned::to_owned));
            all.push(KeyBuilder::of(&key).seal(owner).to_owned());
            #[cfg(feature = "cluster")]
            for companion in &all {
                let slot = super::cluster::slot_of(companion);
                assert_eq!(slot, super::cluster::slot_of(key.full()), "{companion}");
            }
            all.sort();
            all.dedup();
            // Both deployments call the lock and its counter the same, and a sealed attempt.
            assert_eq!(all.len(), 9, "{all:?}");
        }
    });
}
