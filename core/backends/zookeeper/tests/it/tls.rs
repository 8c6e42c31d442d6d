//! Servers with a TLS port.

use std::env;
use std::process::Command;
use std::time::Duration;

use leasehold::backend::zookeeper::{ZooKeeper, ZooKeeperBuilder};
use leasehold::{ConnectError, Error, LockManager};
use leasehold_testkit::servers::{Certificates, ZooKeeperServer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OnceCell;

use crate::access::whole;

/// The URL for a child process of this test, which uses the system's authorities.
const URL_OF_CHILD: &str = "LEASEHOLD_TEST_URL";

async fn secure() -> &'static ZooKeeperServer {
    static SECURE: OnceCell<ZooKeeperServer> = OnceCell::const_new();
    let start = async || ZooKeeperServer::builder().tls().start().await.unwrap();
    SECURE.get_or_init(start).await
}

async fn mutual() -> &'static ZooKeeperServer {
    static MUTUAL: OnceCell<ZooKeeperServer> = OnceCell::const_new();
    let start = async || ZooKeeperServer::builder().mutual_tls().start().await;
    MUTUAL.get_or_init(async || start().await.unwrap()).await
}

fn certificates(server: &ZooKeeperServer) -> &Certificates {
    server.certificates().unwrap()
}

fn url(server: &ZooKeeperServer) -> String {
    format!("zookeeper+tls://{}/locks", server.secure_address().unwrap())
}

fn trusting(server: &ZooKeeperServer) -> ZooKeeperBuilder {
    ZooKeeper::builder().authorities(&certificates(server).authority)
}

/// Checks that the error names TLS.
async fn is_refused(builder: ZooKeeperBuilder, url: &str) {
    let error = builder.connect(url).await.unwrap_err();
    assert!(
        matches!(error, Error::Connect(ConnectError::Server { .. })),
        "{error:?}"
    );
    let said = whole(&error);
    assert!(said.contains("over TLS; check"), "{said}");
}

#[tokio::test]
async fn clients_with_and_without_tls_share_locks_and_notify_each_other() {
    let server = secure().await;
    let tls = LockManager::new(trusting(server).connect(&url(server)).await.unwrap());
    let plain = format!("zookeeper://{}/locks", server.address());
    let plain = LockManager::connect(&plain).await.unwrap();
    let guard = tls.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(plain.lock("k").acquire());
    while plain.inspect("k").await.unwrap().waiting != 1 {
        tokio::task::yield_now().await;
    }
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
}

#[tokio::test]
async fn a_tls_session_continues_after_its_connection_was_lost() {
    let server = ZooKeeperServer::builder().tls().start().await.unwrap();
    // Longer than a restart on a busy machine.
    let builder = trusting(&server).session_timeout(Duration::from_secs(20));
    let locks = LockManager::new(builder.connect(&url(&server)).await.unwrap());
    let guard = locks.lock("k").acquire().await.unwrap();
    server.restart().await.unwrap();
    drop(locks.lock("l").acquire().await.unwrap());
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_server_of_an_untrusted_authority_is_refused() {
    is_refused(trusting(mutual().await), &url(secure().await)).await;
}

#[tokio::test]
async fn a_certificate_for_another_address_is_refused() {
    let server = secure().await;
    let other = TcpListener::bind("127.0.0.2:0").await.unwrap();
    let address = other.local_addr().unwrap();
    let forwarding = tokio::spawn(async move {
        while let Ok((mut client, _)) = other.accept().await {
            let to = server.secure_address().unwrap();
            let mut to = TcpStream::connect(to).await.unwrap();
            // The copy ends when the client refuses the certificate.
            let _ended = copy_bidirectional(&mut client, &mut to).await;
        }
    });
    is_refused(
        trusting(server),
        &format!("zookeeper+tls://{address}/locks"),
    )
    .await;
    forwarding.abort();
}

#[tokio::test]
async fn a_client_certificate_is_sent_and_missing_or_foreign_ones_are_refused() {
    let (server, stranger) = (mutual().await, certificates(secure().await));
    let own = certificates(server);
    let ours = trusting(server).client_certificate(&own.client, &own.client_key);
    let locks = LockManager::new(ours.connect(&url(server)).await.unwrap());
    locks
        .lock("k")
        .acquire()
        .await
        .unwrap()
        .release()
        .await
        .unwrap();
    is_refused(trusting(server), &url(server)).await;
    let theirs = trusting(server).client_certificate(&stranger.client, &stranger.client_key);
    is_refused(theirs, &url(server)).await;
}

#[tokio::test]
async fn a_tls_url_to_a_plain_port_and_the_reverse_are_refused() {
    let server = secure().await;
    let plain_port = format!("zookeeper+tls://{}/locks", server.address());
    is_refused(trusting(server), &plain_port).await;
    let secure_port = url(server).replace("zookeeper+tls:", "zookeeper:");
    let error = LockManager::connect(&secure_port).await.unwrap_err();
    let is_server = matches!(error, Error::Connect(ConnectError::Server { .. }));
    assert!(is_server, "{error:?}");
}

#[tokio::test]
async fn certificates_that_cannot_be_used_are_refused_before_anything_is_sent() {
    let Certificates {
        authority,
        client,
        client_key,
        server_key,
        ..
    } = certificates(secure().await);
    let builder = || ZooKeeper::builder().authorities(authority);
    // No server listens at this port.
    let secure = "zookeeper+tls://127.0.0.1:1/locks";
    for (builder, url, why) in [
        (builder().authorities("none"), secure, "the authorities"),
        (builder().authorities(client_key), secure, "the authorities"),
        (
            builder().client_certificate(client, "none"),
            secure,
            "key is unreadable",
        ),
        (
            builder().client_certificate("none", client_key),
            secure,
            "do not match",
        ),
        (
            builder().client_certificate(client, server_key),
            secure,
            "do not match",
        ),
        (
            builder(),
            "zookeeper://127.0.0.1:1/locks",
            "`zookeeper+tls://`",
        ),
    ] {
        assert!(!format!("{builder:?}").contains("PRIVATE KEY"), "{why}");
        let error = builder.connect(url).await.unwrap_err();
        assert!(
            matches!(error, Error::Connect(ConnectError::Certificates { .. })),
            "{why}: {error:?}"
        );
        let said = whole(&error);
        assert!(said.contains(why), "{why}: {said}");
        assert!(!said.contains("PRIVATE KEY"), "{said}");
    }
}

/// Only environment variables set the system's authorities, so the test starts itself in another process.
#[tokio::test]
async fn without_given_authorities_those_of_the_system_are_trusted() {
    const NAME: &str = "tls::without_given_authorities_those_of_the_system_are_trusted";
    if let Ok(url) = env::var(URL_OF_CHILD) {
        match LockManager::connect(&url).await {
            Ok(locks) => drop(locks.lock("system").acquire().await.unwrap()),
            Err(error) => panic!("{}", whole(&error)),
        }
        return;
    }
    let (server, folder) = (secure().await, tempfile::tempdir().unwrap());
    let file = folder.path().join("authorities.pem");
    let said = || {
        let mut child = Command::new(env::current_exe().unwrap());
        child.args(["--exact", NAME, "--nocapture"]);
        child.env(URL_OF_CHILD, url(server));
        let child = child.env("SSL_CERT_FILE", &file).env_remove("SSL_CERT_DIR");
        let output = child.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&said).into_owned()
    };
    assert!(
        said().contains("install the package `ca-certificates`"),
        "{}",
        said()
    );
    let foreign = &certificates(mutual().await).authority;
    std::fs::write(&file, foreign).unwrap();
    assert!(said().contains("over TLS; check"), "{}", said());
    std::fs::write(&file, &certificates(server).authority).unwrap();
    assert!(said().contains("1 passed"), "{}", said());
}
