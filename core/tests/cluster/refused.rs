//! Errors for a misconfigured or unreachable Cluster.

use leasehold::{ConnectError, Error, LockManager};
use leasehold_testkit::servers::RedisServer;
use tokio::net::TcpListener;

use crate::servers::{UNBROKEN, whole};

#[tokio::test]
async fn one_member_leads_to_all_and_those_that_are_not_there_are_passed_over() {
    let last = UNBROKEN.server(2).port();
    let url = format!("redis+cluster://127.0.0.1:1,127.0.0.1:{last}");
    let locks = LockManager::connect(&url).await.unwrap();
    for key in ["a", "b", "c", "d"] {
        drop(locks.lock(format!("{key}:found")).acquire().await.unwrap());
    }
}

#[tokio::test]
async fn a_server_that_is_no_member_of_a_cluster_is_refused() {
    let server = RedisServer::start().await.unwrap();
    let url = format!("redis+cluster://127.0.0.1:{}", server.port());
    let error = LockManager::connect(&url).await.unwrap_err();
    let said = whole(&error);
    assert!(said.contains("cluster support disabled"), "{said}");
}

#[tokio::test]
async fn a_cluster_that_is_not_there_and_one_with_databases_are_refused() {
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
async fn who_is_not_reached_is_named() {
    let refused = async |hosts: &str| {
        let url = format!("redis+cluster://{hosts}");
        let error = LockManager::connect(&url).await.unwrap_err();
        let said = whole(&error);
        assert!(
            said.contains(&format!("cannot connect to {hosts}")),
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
