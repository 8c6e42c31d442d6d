//! Servers that only accept TLS.

use std::env;
use std::error::Error as _;
use std::process::Command;
use std::time::{Duration, Instant};

use leasehold::backend::Backend;
use leasehold::backend::redis::{Redis, ReplyTooLarge};
use leasehold::backend::redlock::Redlock;
use leasehold::{ConnectError, Error, FencingToken, LockManager, RedisFenceStore};
use leasehold_testkit::servers::{Certificates, RedisBuilder, SentinelServer};
use redis::{Client, ClientTlsConfig, TlsCertificates};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::single::server::{Server, waiters};
use crate::single::server_errors::whole;

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
async fn a_given_client_with_a_certificate_locks_and_is_notified() {
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
async fn an_untrusted_server_is_refused_with_the_reason() {
    let server = Server::with(RedisBuilder::tls).await;
    let error = LockManager::connect(&server.url()).await.unwrap_err();
    let said = whole(&error);
    assert!(said.contains("certificate"), "{said}");
}

fn certificates(server: &Server) -> &Certificates {
    server.inner().certificates().unwrap()
}

/// Trusts the server's authority, and has a client certificate.
fn known_to(server: &Server) -> leasehold::backend::redis::RedisBuilder {
    let own = certificates(server);
    let builder = Redis::builder().authorities(&own.authority);
    builder.client_certificate(&own.client, &own.client_key)
}

async fn locks_and_wakes(redis: Redis) {
    let locks = LockManager::new(redis);
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
}

/// Returns the reason why the certificate, or a missing certificate, is refused.
async fn is_refused(builder: leasehold::backend::redis::RedisBuilder, url: &str) -> String {
    let error = builder.connect(url).await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Server { .. })),
        "{error:?}"
    );
    whole(&error)
}

#[tokio::test]
async fn certificates_are_used_on_one_server() {
    let server = Server::with(RedisBuilder::mutual_tls).await;
    let redis = known_to(&server).connect(&server.url()).await;
    locks_and_wakes(redis.unwrap()).await;
    let authority = &certificates(&server).authority;
    is_refused(Redis::builder().authorities(authority), &server.url()).await;
    let stranger = Server::with(RedisBuilder::tls).await;
    let said = is_refused(known_to(&stranger), &server.url()).await;
    assert!(said.contains("certificate"), "{said}");
}

#[tokio::test]
async fn certificates_are_used_by_sentinels_and_the_servers_that_they_name() {
    let server = Server::with(RedisBuilder::mutual_tls).await;
    let sentinel = SentinelServer::start_beside(server.inner()).await.unwrap();
    let url = format!("rediss+sentinel://127.0.0.1:{}/mymaster", sentinel.port());
    let redis = known_to(&server).connect(&url).await;
    locks_and_wakes(redis.unwrap()).await;
    let authority = &certificates(&server).authority;
    is_refused(Redis::builder().authorities(authority), &url).await;
}

#[tokio::test]
async fn certificates_are_used_in_a_cluster() {
    let server = Server::with(|server| {
        let server = server.mutual_tls().arg("--cluster-enabled").arg("yes");
        server.arg("--tls-cluster").arg("yes")
    })
    .await;
    let mut raw = server.inner().client().await.unwrap();
    let share = ["CLUSTER", "ADDSLOTSRANGE", "0", "16383"];
    raw.command(share).await.unwrap();
    let url = format!("rediss+cluster://127.0.0.1:{}", server.inner().port());
    let redis = known_to(&server).connect(&url).await;
    locks_and_wakes(redis.unwrap()).await;
    let authority = &certificates(&server).authority;
    is_refused(Redis::builder().authorities(authority), &url).await;
}

#[tokio::test]
async fn certificates_are_used_by_all_nodes_of_a_redlock() {
    let servers = [
        Server::with(RedisBuilder::mutual_tls).await,
        Server::with(RedisBuilder::tls).await,
        Server::with(RedisBuilder::mutual_tls).await,
    ];
    let nodes = || Redlock::new(servers.iter().map(Server::url)).durable_nodes(true);
    let authorities = servers.iter().map(|it| certificates(it).authority.clone());
    let own = certificates(&servers[0]);
    let known = nodes()
        .authorities(authorities.collect::<String>())
        .client_certificate(&own.client, &own.client_key);
    // The last manager has only the wrong client certificate.
    let locks = LockManager::new(known.connect().await.unwrap());
    drop(locks.lock("k").acquire().await.unwrap());
    let alone = nodes().authorities(&own.authority);
    let error = alone.connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::NoQuorum { .. })),
        "{error:?}"
    );
}

#[tokio::test]
async fn a_too_large_message_over_mutual_tls_ends_the_connection() {
    let server = Server::with(RedisBuilder::mutual_tls).await;
    let redis = known_to(&server).connect(&server.url()).await.unwrap();
    let mut raw = server.inner().client().await.unwrap();
    let inboxes = raw.command(["PUBSUB", "CHANNELS", "leasehold:inbox:*"]);
    let inboxes = inboxes.await.unwrap();
    let inbox = inboxes.items()[0].text().unwrap();
    let large = "x".repeat(17 * 1024 * 1024);
    raw.command(["PUBLISH", inbox, &large]).await.unwrap();
    let interrupted = timeout(Duration::from_secs(20), redis.interrupted(0));
    interrupted.await.expect("it is still connected");
    locks_and_wakes(redis).await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let server = Server::with(RedisBuilder::tls).await;
    let port = server.inner().port();
    let other = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = other.local_addr().unwrap();
    let forwarding = tokio::spawn(async move {
        while let Ok((mut client, _)) = other.accept().await {
            let mut to = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            // The copy ends when the client refuses the certificate.
            let _ended = copy_bidirectional(&mut client, &mut to).await;
        }
    });
    let trusting = || Redis::builder().authorities(&certificates(&server).authority);
    for scheme in ["rediss", "rediss+cluster"] {
        let said = is_refused(trusting(), &format!("{scheme}://{address}")).await;
        assert!(said.contains("not valid for name"), "{said}");
    }
    let by_its_name = format!("rediss://localhost:{port}");
    locks_and_wakes(trusting().connect(&by_its_name).await.unwrap()).await;
    forwarding.abort();
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_refused_before_anything_is_sent() {
    let server = Server::with(RedisBuilder::tls).await;
    let Certificates {
        authority,
        client,
        client_key,
        server_key,
        ..
    } = certificates(&server);
    let builder = || Redis::builder().authorities(authority);
    // No server listens at this port.
    for url in ["rediss://127.0.0.1:1", "rediss+cluster://127.0.0.1:1"] {
        for (builder, url, why) in [
            (builder().authorities("none"), url, "the authorities"),
            (builder().authorities(client_key), url, "the authorities"),
            (
                builder().client_certificate(client, "none"),
                url,
                "key is unreadable",
            ),
            (
                builder().client_certificate("none", client_key),
                url,
                "do not match",
            ),
            (
                builder().client_certificate(client, server_key),
                url,
                "do not match",
            ),
            (builder(), "redis://127.0.0.1:1", "begins with `rediss`"),
            (
                builder(),
                "redis+cluster://127.0.0.1:1",
                "begins with `rediss`",
            ),
        ] {
            assert!(!format!("{builder:?}").contains("PRIVATE KEY"), "{why}");
            let error = builder.connect(url).await.unwrap_err();
            let is_told = matches!(error, Error::Connect(ConnectError::Certificates { .. }));
            assert!(is_told && whole(&error).contains(why), "{error:?}");
        }
    }
    let nodes = Redlock::new(["rediss://127.0.0.1:1", "redis://127.0.0.1:2"]);
    let error = nodes.authorities(authority).connect().await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Certificates { .. })),
        "{error:?}"
    );
}

/// The URL of the server for a child process of this test. The child trusts the server's authority.
const TRUSTED: &str = "LEASEHOLD_TRUSTED_SERVER";

#[tokio::test]
async fn a_system_trusted_server_is_used_and_a_too_large_reply_is_refused() {
    if let Ok(url) = env::var(TRUSTED) {
        return lock_and_read_too_much(&url).await;
    }
    let server = Server::with(RedisBuilder::tls).await;
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("authority.pem");
    let certificates = server.inner().certificates().unwrap();
    std::fs::write(&authority, &certificates.authority).unwrap();
    let name = "single::tls::a_system_trusted_server_is_used_and_a_too_large_reply_is_refused";
    let mut itself = Command::new(env::current_exe().unwrap());
    itself.args(["--exact", name]).env(TRUSTED, server.url());
    let told = itself.env("SSL_CERT_FILE", &authority).output().unwrap();
    let said = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.status.success() && said.contains("1 passed"), "{said}");
}

async fn lock_and_read_too_much(url: &str) {
    let locks = LockManager::connect(url).await.unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
    let store = RedisFenceStore::connect(url).await.unwrap();
    let pipeline = || store.pipeline("r", FencingToken::try_from(7).unwrap());
    let last = (65 * 1024 * 1024).to_string();
    let write = pipeline().cmd("SETRANGE", ["large", &*last, "x"]);
    write.execute().await.unwrap();
    // The server of a busy machine may need longer than two seconds for so large a reply.
    let begun = Instant::now();
    loop {
        let read = pipeline().cmd("GET", ["large"]).execute().await;
        let error = read.unwrap_err();
        let reason = error.source().and_then(std::error::Error::source);
        if reason.is_some_and(<dyn std::error::Error>::is::<ReplyTooLarge>) {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(180), "{error:?}");
    }
    pipeline().cmd("PING", [""; 0]).execute().await.unwrap();
}
