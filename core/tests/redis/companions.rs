//! What a lock leaves on the server.

use std::time::Duration;

use tokio::time::sleep;

use crate::server::{Server, waiters};

async fn keys(server: &Server) -> Vec<String> {
    let mut raw = server.raw().await;
    let mut keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut raw)
        .await
        .unwrap();
    keys.sort();
    keys
}

#[tokio::test]
async fn a_released_lock_leaves_its_counter_and_the_counter_has_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    for n in 0..20 {
        let guard = locks.lock(format!("one-off:{n}")).acquire().await.unwrap();
        guard.release().await.unwrap();
    }
    let left = keys(&server).await;
    assert_eq!(left.len(), 20);
    let mut raw = server.raw().await;
    for key in left {
        assert!(key.ends_with("}:lh1:fence"), "{key}");
        let ttl: i64 = redis::cmd("TTL")
            .arg(&key)
            .query_async(&mut raw)
            .await
            .unwrap();
        assert!(ttl > 60 * 60 * 24, "{key} has a ttl of {ttl} s");
    }
}

#[tokio::test]
async fn a_held_and_awaited_lock_has_no_key_without_a_ttl() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    let mut raw = server.raw().await;
    let found = keys(&server).await;
    assert_eq!(found.len(), 4, "{found:?}");
    for key in found {
        let ttl: i64 = redis::cmd("PTTL")
            .arg(&key)
            .query_async(&mut raw)
            .await
            .unwrap();
        assert!(ttl > 0, "{key}");
    }
    guard.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(keys(&server).await, ["{lock:k}:lh1:fence"]);
}

#[tokio::test]
async fn waiters_that_leave_are_gone_from_the_server() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting: Vec<_> = (0..10)
        .map(|_| tokio::spawn(locks.lock("k").acquire()))
        .collect();
    while locks.inspect("k").await.unwrap().waiting < 10 {
        sleep(Duration::from_millis(5)).await;
    }
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    while locks.inspect("k").await.unwrap().waiting > 0 {
        sleep(Duration::from_millis(5)).await;
    }
    guard.release().await.unwrap();
    assert_eq!(keys(&server).await, ["{lock:k}:lh1:fence"]);
}
