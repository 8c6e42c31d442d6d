//! Which task reconnects, for which requests, and how long it may take.

use std::future::IntoFuture as _;
use std::pin::pin;
use std::time::Duration;

use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::{Error, LockManager};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use tokio::time::{Instant, sleep};

use crate::single::server::Server;

/// Connects to a server through a proxy.
async fn linked(server: &Server) -> (Proxy, LockManager) {
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    (proxy, locks)
}

#[tokio::test]
async fn a_manager_with_options_connects_by_url() {
    let server = Server::start().await;
    let builder = LockManager::builder().prefix("shop:");
    let locks = builder.connect(&server.url()).await.unwrap();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let mut exists = redis::cmd("EXISTS");
    exists.arg("shop:k");
    let there: bool = exists.query_async(&mut server.raw().await).await.unwrap();
    assert!(there);
}

/// The connecting task is busy with something else, like the other branch of a `select!`.
#[tokio::test]
async fn a_connecting_task_that_is_not_polled_does_not_block_renewals() {
    let server = Server::start().await;
    let (proxy, locks) = linked(&server).await;
    let ttl = Duration::from_secs(6);
    let guard = locks.lock("kept").ttl(ttl).acquire().await.unwrap();
    proxy.set(Direction::ToClient, Traffic::Drop);
    proxy.cut();
    let mut acquire = pin!(locks.lock("k").acquire().into_future());
    let begun = Instant::now();
    while begun.elapsed() < ttl / 6 {
        assert!(poll!(&mut acquire).is_pending());
        sleep(Duration::from_millis(1)).await;
    }
    proxy.pass();
    proxy.cut();
    sleep(ttl + ttl / 3).await;
    assert!(guard.is_valid());
    drop(acquire.await.unwrap());
}

#[tokio::test]
async fn connecting_may_take_longer_than_one_renewal() {
    let server = Server::start().await;
    let (proxy, locks) = linked(&server).await;
    // A renewal may take a sixth of the TTL. One reply arrives in time, but connecting needs several replies.
    let ttl = Duration::from_secs(12);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    let slow = Traffic::Delay(Duration::from_millis(900));
    proxy.set(Direction::ToClient, slow);
    proxy.cut();
    sleep(ttl + ttl / 3).await;
    assert!(guard.is_valid());
}

#[tokio::test]
async fn a_connect_is_repeated_until_the_server_has_started() {
    let server = Server::start().await;
    server.kill();
    let refused = LockManager::connect(&server.url()).await.unwrap_err();
    assert!(refused.is_temporary(), "{refused}");

    let retry = LockManager::builder().connect_retry_timeout(Duration::MAX);
    let url = server.url();
    let connecting = tokio::spawn(async move { retry.connect(&url).await });
    server.start_again().await;
    let locks = connecting.await.unwrap().unwrap();
    locks
        .lock("k")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_lazy_manager_connects_when_its_server_has_started() {
    let server = Server::start().await;
    server.kill();
    let builder = LockManager::builder().backend_retry_timeout(Duration::MAX);
    let locks = builder.connect_lazily(&server.url()).unwrap();
    let acquiring = tokio::spawn(locks.lock("k").acquire().into_future());
    server.start_again().await;
    let guard = acquiring.await.unwrap().unwrap();
    let eager = LockManager::connect(&server.url()).await.unwrap();
    assert!(eager.lock("k").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    let here = LockManager::connect(&server.url()).await.unwrap();
    assert_eq!(locks.capabilities(), here.capabilities());
}

#[tokio::test]
async fn a_lazy_manager_returns_the_refusal_of_each_acquire() {
    let server = Server::with(|server| server.password("right")).await;
    let url = format!("redis://:wrong@127.0.0.1:{}", server.inner().port());
    let locks = LockManager::builder().connect_lazily(&url).unwrap();
    for _ in 0..2 {
        let refused = locks.lock("k").acquire().await.unwrap_err();
        let Error::Backend { source, .. } = &refused else {
            panic!("{refused:?}");
        };
        assert!(source.to_string().contains("WRONGPASS"), "{source}");
        assert!(!refused.is_temporary());
    }
    let refused = LockManager::builder()
        .connect_lazily("ftp://host")
        .unwrap_err();
    assert!(matches!(refused, Error::Connect(_)), "{refused}");
}

#[tokio::test]
async fn a_refused_password_ends_the_repeated_connect() {
    let server = Server::with(|server| server.password("right")).await;
    let url = format!("redis://:wrong@127.0.0.1:{}", server.inner().port());
    let retry = LockManager::builder().connect_retry_timeout(Duration::MAX);
    let refused = retry.connect(&url).await.unwrap_err();
    assert!(!refused.is_temporary(), "{refused}");
}

#[tokio::test]
async fn a_url_without_the_required_password_is_refused_with_the_remedy() {
    let server = Server::with(|server| server.password("right")).await;
    let url = format!("redis://127.0.0.1:{}", server.inner().port());
    let refused = LockManager::connect(&url).await.unwrap_err().to_string();
    assert!(refused.contains("requires a password"), "{refused}");
}
