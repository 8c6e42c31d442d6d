//! Servers that speak TLS only.

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_testkit::servers::{Certificates, RedisBuilder};
use redis::{Client, ClientTlsConfig, TlsCertificates};

use crate::server::{Server, waiters};
use crate::trouble::whole;

fn trusting(
    server: &Server,
    identity: impl Fn(&Certificates) -> Option<ClientTlsConfig>,
) -> Client {
    let certificates = server.inner().certificates().unwrap();
    let tls = TlsCertificates {
        client_tls: identity(certificates),
        root_cert: Some(certificates.authority.clone().into_bytes()),
    };
    Client::build_with_tls(server.url(), tls).unwrap()
}

#[tokio::test]
async fn a_client_with_certificates_of_its_own_locks_and_is_woken() {
    let server = Server::with(|server| server.mutual_tls().user("u", "p", "~* &* +@all")).await;
    let client = trusting(&server, |certificates| {
        Some(ClientTlsConfig {
            client_cert: certificates.client.clone().into_bytes(),
            client_key: certificates.client_key.clone().into_bytes(),
        })
    });
    let redis = Redis::builder().connect_client(client).await.unwrap();
    let locks = LockManager::new(redis);
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_server_that_nobody_vouches_for_is_refused_with_the_reason() {
    let server = Server::with(RedisBuilder::tls).await;
    let error = LockManager::connect(&server.url()).await.unwrap_err();
    let said = whole(&error);
    assert!(said.contains("certificate"), "{said}");
}
