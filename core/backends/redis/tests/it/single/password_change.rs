//! A user whose password changes, on one server.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{FenceStore, FencingToken, LockManager, RedisFenceStore};
use redis::io::tcp::TcpSettings;
use redis::io::tcp::socket2::TcpKeepalive;
use tokio::time::{sleep, timeout};

use crate::credentials::{Rotating, locks_outlive_a_password};
use crate::single::server::Server;

#[tokio::test(flavor = "multi_thread")]
async fn locks_survive_a_password_change_on_one_server() {
    let server = Server::start().await;
    let url = server.url();
    let mut servers = [server.inner().client().await.unwrap()];
    locks_outlive_a_password(&mut servers, async |provider| {
        let redis = Redis::builder()
            .credentials_provider(provider.clone())
            .tcp_settings(TcpSettings::default().set_keepalive(TcpKeepalive::new()));
        let fences = RedisFenceStore::connect_with(&redis, &url).await.unwrap();
        let token = FencingToken::try_from(7).unwrap();
        fences.admit("r", token).await.unwrap();
        LockManager::new(redis.connect(&url).await.unwrap())
    })
    .await;
}

/// Provides nothing.
struct Empty;

impl redis::StreamingCredentialsProvider for Empty {
    fn subscribe(
        &self,
    ) -> std::pin::Pin<
        Box<dyn futures_util::Stream<Item = redis::RedisResult<redis::BasicAuth>> + Send>,
    > {
        Box::pin(futures_util::stream::empty())
    }
}

#[tokio::test]
async fn connecting_without_credentials_returns_an_error() {
    let server = Server::start().await;
    let redis = Redis::builder().credentials_provider(Empty);
    let refused = redis.connect(&server.url()).await.unwrap_err();
    assert!(
        matches!(refused, leasehold::Error::Connect(_)),
        "{refused:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_connection_authenticates_with_a_new_password() {
    let server = Server::start().await;
    let mut client = server.inner().client().await.unwrap();
    let rights = ["reset", "on", ">first", ">second", "~*", "&*", "+@all"];
    let user = [&["ACL", "SETUSER", "rotating"][..], &rights].concat();
    client.command(user).await.unwrap();
    let (replace, password) = tokio::sync::watch::channel("first".to_owned());
    let redis = Redis::builder().credentials_provider(Rotating::new(password));
    let _locks = LockManager::new(redis.connect(&server.url()).await.unwrap());
    let mut authentications = async |count: u32| {
        let seen = timeout(Duration::from_secs(9), async {
            loop {
                let stats = client.command(["INFO", "commandstats"]).await.unwrap();
                let text = stats.text().unwrap().to_owned();
                let calls = text.split("cmdstat_auth:calls=").nth(1);
                let calls = calls.and_then(|it| it.split(',').next()?.parse().ok());
                if calls.unwrap_or(0) >= count {
                    return;
                }
                sleep(Duration::from_millis(10)).await;
            }
        });
        seen.await.is_ok()
    };
    // The crate sends the first password once more.
    assert!(authentications(1).await);
    replace.send("second".to_owned()).unwrap();
    assert!(authentications(2).await);
}
