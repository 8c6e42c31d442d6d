//! Errors for misconfigured or unreachable Sentinels.

use std::time::Duration;

use leasehold::{ConnectError, Error, LockManager};
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::sentinel::servers::{UNBROKEN, whole};

#[tokio::test]
async fn a_name_that_no_sentinel_knows_is_refused_with_the_remedy() {
    let url = format!("redis+sentinel://{}/nobody", UNBROKEN.hosts());
    let error = LockManager::connect(&url).await.unwrap_err();
    let said = whole(&error);
    assert!(
        said.contains("not know a primary `nobody`; check the URL"),
        "{said}"
    );
}

#[tokio::test]
async fn unreachable_sentinels_are_named_and_the_others_are_queried() {
    let url = format!("redis+sentinel://127.0.0.1:1/{}", UNBROKEN.name());
    let begin = Instant::now();
    let error = LockManager::connect(&url).await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Server { .. })),
        "{error}"
    );
    let said = whole(&error);
    assert!(said.contains("no Sentinel reports the primary"), "{said}");
    assert!(said.contains("connection refused at 127.0.0.1:1"), "{said}");

    let last = UNBROKEN.sentinels()[2].port();
    let hosts = format!("127.0.0.1:1,localhost:1,127.0.0.1:{last}");
    let url = format!("redis+sentinel://{hosts}/{}", UNBROKEN.name());
    let locks = LockManager::connect(&url).await.unwrap();
    drop(locks.lock("here").acquire().await.unwrap());
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn a_url_without_a_primary_name_is_refused_with_the_expected_form() {
    let url = format!("redis+sentinel://{}", UNBROKEN.hosts());
    let error = LockManager::connect(&url).await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Url { .. })),
        "{error}"
    );
    assert!(whole(&error).contains("/master-name/"), "{}", whole(&error));
}

#[tokio::test]
async fn the_connect_error_names_the_unreachable_host() {
    let refused = async |hosts: &str| {
        let url = format!("redis+sentinel://{hosts}/main");
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
    let silent = silent.local_addr().unwrap();
    let said = refused(&format!("127.0.0.1:1,{silent}")).await;
    assert!(said.contains(&format!("{silent} did not reply")), "{said}");
    // A label has at most 63 characters, so this name is refused without a DNS query.
    let host = format!("{}.example:7", "a".repeat(64));
    let said = refused(&host).await;
    let unresolved = format!("the name in {host} could not be resolved");
    assert!(said.contains(&unresolved), "{said}");
}
