//! Which nodes can be used, as far as a client detects it while connecting.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

use leasehold::backend::redlock::Redlock;
use leasehold::backend::{Applied, BackendError};
use leasehold::{ConnectError, Error};
use leasehold_testkit::servers::RedisServer;
use tempfile::TempDir;

use crate::redlock::nodes::{NODE_TIMEOUT, Nodes, durable, eventually, manager, refused};
use crate::redlock::rounds::in_words;

/// Returns how long the node has been running, as reported by the node.
async fn uptime(nodes: &Nodes, place: usize) -> u64 {
    let mut info = redis::cmd("INFO");
    info.arg("server");
    let info: String = info.query_async(&mut nodes.raw(place).await).await.unwrap();
    let mut lines = info.lines();
    let up = lines.find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    up.unwrap().parse().unwrap()
}

#[tokio::test]
async fn nodes_that_refuse_the_scripts_do_not_count_as_connected() {
    let nodes = Nodes::with(5, |_place, node| {
        node.user("some", "pass", "~* &* +@all -script")
    })
    .await;
    let url = |server: &RedisServer| format!("redis://some:pass@127.0.0.1:{}", server.port());
    let urls: Vec<_> = nodes.servers.iter().map(url).collect();
    let second = Duration::from_secs(1);
    let votes_soon = Redlock::new(urls.clone())
        .node_timeout(NODE_TIMEOUT)
        .max_ttl(second)
        .clock_difference(Duration::ZERO);
    let is_refused = |connected: Result<Redlock, Error>| {
        let refused = connected.unwrap_err();
        let words = in_words(&refused);
        assert!(words.contains("connected to 0 of 5 nodes"), "{words}");
        assert!(words.contains("the user lacks a permission"), "{words}");
    };
    // No new node votes for a minute, and nodes that refuse the scripts do not vote after that either.
    is_refused(Redlock::new(urls).connect().await);
    eventually("they have been up for long enough", async || {
        let mut least = u64::MAX;
        for place in 0..5 {
            least = least.min(uptime(&nodes, place).await);
        }
        least > 3
    })
    .await;
    is_refused(votes_soon.connect().await);
}

/// The result does not depend on which name answers first.
#[tokio::test]
async fn one_server_under_two_names_is_refused_each_time() {
    let nodes = Nodes::start(3).await;
    let port = |place: usize| nodes.servers[place].port();
    let names = [
        format!("127.0.0.1:{}", port(0)),
        format!("127.0.0.1:{}", port(1)),
        format!("127.0.0.1:{}", port(2)),
        format!("localhost:{}", port(0)),
    ];
    let urls: Vec<_> = names.iter().map(|name| format!("redis://{name}")).collect();
    for _ in 0..20 {
        match refused(&durable(urls.clone())).await {
            Error::Connect(ConnectError::NotIndependent { one, other }) => {
                let mut told = [one, other];
                told.sort();
                assert_eq!(told, [names[0].clone(), names[3].clone()]);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Makes a name lead to this server.
fn lead(name: &Path, server: &RedisServer) {
    let next = name.with_extension("next");
    symlink(server.socket(), &next).unwrap();
    fs::rename(next, name).unwrap();
}

#[tokio::test]
async fn a_name_that_leads_to_another_nodes_server_later_has_no_vote() {
    let nodes = Nodes::start(3).await;
    let folder = TempDir::new().unwrap();
    let name = folder.path().join("third");
    lead(&name, &nodes.servers[2]);
    let mut urls = nodes.urls();
    urls[2] = format!("unix://{}", name.display());
    // Below, rounds wait for a node that does not reply. Those that need two nodes are repeated.
    let redlock = durable(urls).node_timeout(Duration::from_millis(500));
    let locks = manager(redlock).await;
    drop(nodes.held_everywhere(&locks, "k").await);
    lead(&name, &nodes.servers[0]);
    nodes.servers[2].kill();
    let third = name.display().to_string();
    eventually("it is told that it is the first", async || {
        // The second server may be late to be up again.
        let seen = locks.lock("k").try_acquire().await;
        if seen.is_err() {
            return false;
        }
        drop(seen);
        nodes.servers[1].pause().unwrap();
        let alone = locks.lock("l").try_acquire().await.map(|it| it.is_some());
        nodes.servers[1].resume().unwrap();
        // One server of three is not a majority, even under several names.
        let words = in_words(&alone.unwrap_err());
        words.contains(&format!("{third}: it is the same server as"))
    })
    .await;
    // The name leads to a separate server again.
    let successor = RedisServer::start().await.unwrap();
    lead(&name, &successor);
    nodes.servers[1].kill();
    eventually("it votes", async || {
        let held = locks.lock("k").try_acquire().await;
        held.is_ok_and(|it| it.is_some())
    })
    .await;
}

#[tokio::test]
async fn cluster_nodes_and_replicas_are_refused() {
    let nodes = Nodes::start(2).await;
    let port = nodes.servers[0].port().to_string();
    let replica = RedisServer::builder().arg("--replicaof").arg("127.0.0.1");
    let replica = replica.arg(port).start().await.unwrap();
    let of_a_cluster = RedisServer::builder().arg("--cluster-enabled").arg("yes");
    let of_a_cluster = of_a_cluster.start().await.unwrap();
    for (server, why) in [
        (&replica, "it is a replica"),
        (&of_a_cluster, "it is a member of a Cluster"),
    ] {
        let mut urls = nodes.urls();
        urls.push(server.url());
        for builder in [durable(urls.clone()), Redlock::new(urls.clone())] {
            let refused = refused(&builder).await;
            let Error::Connect(ConnectError::Server { address, source }) = &refused else {
                panic!("{refused:?}");
            };
            assert_eq!(*address, format!("127.0.0.1:{}", server.port()));
            let words = in_words(&refused);
            assert!(words.contains(why), "{words}");
            assert_eq!(BackendError::applied(source), Applied::No);
        }
    }
    let nobody = durable(vec!["redis://127.0.0.1:1".to_owned()]);
    let Error::Connect(ConnectError::NoQuorum { source, .. }) = nobody.connect().await.unwrap_err()
    else {
        panic!("nobody is there");
    };
    assert_eq!(BackendError::applied(&source), Applied::No);
}
