//! Errors for a misconfigured or unreachable Cluster.

use leasehold::{ConnectError, Error, LockManager};
use leasehold_testkit::servers::RedisServer;
use tokio::net::TcpListener;

use crate::cluster::servers::{UNBROKEN, whole};

#[tokio::test]
async fn one_reachable_node_in_the_url_is_enough_to_use_the_cluster() {
    let last = UNBROKEN.server(2).port();
    let url = format!("redis+cluster://127.0.0.1:1,127.0.0.1:{last}");
    let locks = LockManager::connect(&url).await.unwrap();
    for key in ["a", "b", "c", "d"] {
        drop(locks.lock(format!("{key}:found")).acquire().await.unwrap());
    }
}

#[tokio::test]
async fn a_server_that_is_not_a_cluster_node_is_refused() {
    let server = RedisServer::start().await.unwrap();
    let url = format!("redis+cluster://127.0.0.1:{}", server.port());
    let error = LockManager::connect(&url).await.unwrap_err();
    let said = whole(&error);
    assert!(said.contains("cluster support disabled"), "{said}");
}

#[tokio::test]
async fn an_unreachable_cluster_and_a_database_number_are_refused() {
    let error = LockManager::connect("redis+cluster://127.0.0.1:1")
        .await
        .unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Server { .. })),
        "{error}"
    );
    let url = format!("redis+cluster://{}/3", UNBROKEN.hosts());
    let error = LockManager::connect(&url).await.unwrap_err();
    assert!(whole(&error).contains("no databases"), "{}", whole(&error));
}

#[tokio::test]
async fn the_connect_error_names_the_unreachable_host() {
    let refused = async |hosts: &str| {
        let url = format!("redis+cluster://{hosts}");
        let error = LockManager::connect(&url).await.unwrap_err();
        let said = whole(&error);
        assert!(
            said.contains(&format!("connecting to {hosts} failed")),
            "{said}"
        );
        said
    };
    // The operating system accepts connections, but the program does not.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = silent.local_addr().unwrap().to_string();
    let said = refused(&silent).await;
    assert!(said.contains(&format!("{silent} did not reply")), "{said}");
    // A label has at most 63 characters, so this name is refused without a DNS query.
    let host = format!("{}.example:7", "a".repeat(64));
    let said = refused(&host).await;
    let unresolved = format!("the name in {host} could not be resolved");
    assert!(said.contains(&unresolved), "{said}");
}
