//! A user with exactly the documented least privileges.

use std::collections::BTreeSet;
use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{FenceStore, FencingToken, LockManager, RedisFenceStore};
use leasehold_testkit::resp::RawClient;

use crate::documented_privileges::{
    PASSWORD, USER, everything, least, make_user, named, refused, tries_what_is_dangerous,
};
use crate::single::server::Server;

const OF_FENCES: &str = include_str!("../../../src/fence/mod.rs");

/// Privileges to open a connection, and to check a silent one.
const OF_CONNECTIONS: [&str; 4] = ["+hello", "+auth", "+select", "+ping"];

async fn with_user(rights: &[&str]) -> (Server, RawClient, String) {
    let server = Server::start().await;
    let mut client = server.inner().client().await.unwrap();
    make_user(&mut client, rights).await;
    let port = server.inner().port();
    let url = format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}/1");
    (server, client, url)
}

/// Returns the commands that the server has executed, in the format of privileges.
async fn carried_out(server: &mut RawClient) -> BTreeSet<String> {
    let told = server.command(["INFO", "commandstats"]).await.unwrap();
    let lines = told.text().unwrap().lines();
    let names = lines.filter_map(|line| line.strip_prefix("cmdstat_")?.split_once(':'));
    names
        .filter(|(_, counts)| !counts.starts_with("calls=0,"))
        .map(|(name, _)| format!("+{name}"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_privileges_are_enough_and_each_is_needed() {
    let (_server, mut client, url) = with_user(&least(&[])).await;
    everything(async || LockManager::connect(&url).await.unwrap()).await;
    assert_eq!(refused(&mut client).await, Vec::<String>::new());
    let carried_out = carried_out(&mut client).await;
    for right in least(&[]).into_iter().filter(|it| it.starts_with('+')) {
        // Version 6.2 does not count subcommands.
        let counted = [Some(right), right.split('|').next()];
        let is_used = counted.iter().flatten().any(|it| carried_out.contains(*it));
        let is_needed = is_used || OF_CONNECTIONS.contains(&right);
        assert!(is_needed, "{right} is not used: {carried_out:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_replicas_needs_one_more_privilege() {
    let rights = least(&["[`RedisBuilder::synced`]"]);
    let (server, _client, url) = with_user(&rights).await;
    let mut replica = redis::cmd("REPLICAOF");
    replica.arg("127.0.0.1").arg(server.inner().port());
    let other = Server::start().await;
    replica.exec_async(&mut other.raw().await).await.unwrap();
    let synced = Redis::builder().synced(1, Duration::from_secs(5));
    let locks = LockManager::new(synced.connect(&url).await.unwrap());
    while locks.lock("k").try_acquire().await.is_err() {}
    let guard = locks.lock("k").acquire().await.unwrap();
    guard.renew().await.unwrap();
    // The first client was idle, and a setting of the server may have closed its connection.
    let mut client = server.inner().client().await.unwrap();
    assert_eq!(refused(&mut client).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_documented_privileges_allow_no_dangerous_command() {
    let rights = least(&["[`RedisBuilder::synced`]", "With Sentinels"]);
    let (server, _client, _url) = with_user(&rights).await;
    tries_what_is_dangerous(server.inner().port()).await;
}

#[tokio::test]
async fn the_documented_privileges_of_a_fence_store_are_enough_and_harmless() {
    let rights = named(OF_FENCES, "default prefix");
    let (server, mut client, url) = with_user(&rights).await;
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    let token = FencingToken::try_from(7).unwrap();
    for resource in ["file:report", "{42}:report", "file:{42}"] {
        fences.admit(resource, token).await.unwrap();
        fences.pipeline(resource, token).execute().await.unwrap();
    }
    assert_eq!(refused(&mut client).await, Vec::<String>::new());
    tries_what_is_dangerous(server.inner().port()).await;
}
