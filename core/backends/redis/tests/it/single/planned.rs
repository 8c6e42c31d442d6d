//! Operators change passwords and certificates of a server while locks are held and waited for.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold_testkit::servers::{Certificates, RedisBuilder};
use tokio::time::{sleep, timeout};

use crate::single::server::{Server, count, waiters};
use crate::single::server_errors::whole;

/// Much longer than any step of these tests, and shorter than the TTL.
const SOON: Duration = Duration::from_secs(60);
const TTL: Duration = Duration::from_secs(60);

async fn tell(server: &Server, words: &[&str]) {
    let mut raw = server.inner().client().await.unwrap();
    raw.command(words).await.unwrap();
}

async fn cut_connections(server: &Server) {
    for kind in ["normal", "pubsub"] {
        tell(server, &["CLIENT", "KILL", "TYPE", kind]).await;
    }
}

/// Returns the number of login attempts.
async fn logins(server: &Server) -> u64 {
    let mut raw = server.inner().client().await.unwrap();
    let info = raw.command(["INFO", "commandstats"]).await.unwrap();
    count(info.text().unwrap(), "cmdstat_hello:calls")
}

async fn soon<T>(task: impl Future<Output = T>) -> T {
    let answer = timeout(SOON, task).await;
    answer.expect("it should not take so long")
}

#[tokio::test]
async fn a_password_change_with_both_passwords_valid_fails_no_request() {
    let server = Server::with(|server| server.user("app", "old", "~* &* +@all")).await;
    let manager = async |password: &str| {
        let url = format!("redis://app:{password}@127.0.0.1:{}", server.inner().port());
        LockManager::connect(&url).await.unwrap()
    };
    let before = manager("old").await;
    let guard = before.lock("k").ttl(TTL).acquire().await.unwrap();
    tell(&server, &["ACL", "SETUSER", "app", ">new"]).await;
    let after = manager("new").await;
    let waiting = tokio::spawn(after.lock("k").ttl(TTL).acquire());
    waiters(&after, 1).await;
    cut_connections(&server).await;
    guard.renew().await.unwrap();
    tell(&server, &["ACL", "SETUSER", "app", "<old"]).await;
    // Existing connections stay open.
    guard.release().await.unwrap();
    let next = soon(waiting).await.unwrap().unwrap();
    cut_connections(&server).await;
    next.renew().await.unwrap();
    next.release().await.unwrap();
}

#[tokio::test]
async fn a_revoked_password_is_an_error_and_releases_continue_once_it_is_back() {
    let server = Server::with(|server| server.user("app", "secret", "~* &* +@all")).await;
    let (first, other) = (server.locks().await, server.locks().await);
    let kept = first.lock("kept").ttl(TTL).acquire().await.unwrap();
    let guard = first.lock("k").ttl(TTL).acquire().await.unwrap();
    let waiting = tokio::spawn(other.lock("k").ttl(TTL).acquire());
    waiters(&other, 1).await;
    tell(&server, &["ACL", "SETUSER", "app", "<secret"]).await;
    cut_connections(&server).await;
    let refused = async {
        loop {
            // The first call may only report that the connection is closed.
            let error = other.lock("free").try_acquire().await.unwrap_err();
            if !error.is_temporary() {
                return whole(&error);
            }
        }
    };
    let said = soon(refused).await;
    let address = format!("127.0.0.1:{}", server.inner().port());
    assert!(
        said.contains(&address) && said.contains("password") && !said.contains("secret"),
        "{said}"
    );
    guard.release().await.unwrap_err();
    drop(waiting.await.unwrap());
    // The releases in the background are refused, too.
    let begin = logins(&server).await;
    let repeated = async {
        while logins(&server).await < begin + 3 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    soon(repeated).await;
    tell(&server, &["ACL", "SETUSER", "app", ">secret"]).await;
    let next = async {
        loop {
            // A connection attempt may have been refused just before.
            if let Ok(guard) = first.lock("k").acquire().await {
                return guard;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    soon(next).await.release().await.unwrap();
    kept.renew().await.unwrap();
}

/// Makes the server use these certificates for new connections.
async fn show(server: &Server, certificates: &Certificates) {
    let folder = tempfile::tempdir().unwrap();
    let [certificate, key] = [
        ("server.pem", &certificates.server),
        ("server.key", &certificates.server_key),
    ]
    .map(|(name, pem)| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.to_str().unwrap().to_owned()
    });
    let settings = ["tls-cert-file", &certificate, "tls-key-file", &key];
    let words = [["CONFIG", "SET"].as_slice(), &settings].concat();
    tell(server, &words).await;
}

#[tokio::test]
async fn an_untrusted_server_certificate_is_refused_until_it_is_replaced() {
    let (server, other) = (
        Server::with(RedisBuilder::tls).await,
        Server::with(RedisBuilder::tls).await,
    );
    let certificates = |server: &Server| server.inner().certificates().unwrap().clone();
    let (old, new) = (certificates(&server), certificates(&other));
    let trusting = async |authorities: String| {
        let builder = Redis::builder().authorities(authorities);
        LockManager::new(builder.connect(&server.url()).await.unwrap())
    };
    let narrow = trusting(old.authority.clone()).await;
    let prepared = trusting(format!("{}{}", old.authority, new.authority)).await;
    let guard = narrow.lock("kept").ttl(TTL).acquire().await.unwrap();
    let held = prepared.lock("k").ttl(TTL).acquire().await.unwrap();
    let waiting = tokio::spawn(narrow.lock("k").ttl(TTL).acquire());
    waiters(&prepared, 1).await;
    show(&server, &new).await;
    // Existing connections stay open.
    guard.renew().await.unwrap();
    cut_connections(&server).await;
    held.renew().await.unwrap();
    let address = format!("127.0.0.1:{}", server.inner().port());
    let refused = async {
        loop {
            let error = narrow.lock("free").try_acquire().await.unwrap_err();
            assert!(error.is_temporary(), "{}", whole(&error));
            // The first call may only report that the connection is closed.
            if whole(&error).contains("certificate") {
                return whole(&error);
            }
        }
    };
    let said = soon(refused).await;
    assert!(said.contains(&address), "{said}");
    held.release().await.unwrap();
    guard.renew().await.unwrap_err();
    assert!(guard.is_valid());
    show(&server, &old).await;
    let next = soon(waiting).await.unwrap().unwrap();
    next.release().await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn an_expired_certificate_is_reported_and_a_renewed_one_is_accepted() {
    let servers = [
        Server::with(RedisBuilder::tls).await,
        Server::with(RedisBuilder::tls).await,
        Server::with(RedisBuilder::tls).await,
    ];
    let own = |server: &Server| server.inner().certificates().unwrap().clone();
    let authorities: String = servers.iter().map(|it| own(it).authority).collect();
    let one = Redis::builder().authorities(&authorities);
    let nodes = Redlock::new(servers.iter().map(Server::url)).durable_nodes(true);
    let managers = [
        LockManager::new(one.connect(&servers[0].url()).await.unwrap()),
        LockManager::new(nodes.authorities(&authorities).connect().await.unwrap()),
    ];
    let everywhere = async |certificates: Vec<Certificates>| {
        for (server, certificates) in servers.iter().zip(&certificates) {
            show(server, certificates).await;
            cut_connections(server).await;
        }
    };
    let (old, renewed) = (
        servers.iter().map(|it| own(it).expired().unwrap()),
        servers.iter().map(|it| own(it).renewed().unwrap()),
    );
    everywhere(old.collect()).await;
    for locks in &managers {
        let address = format!("127.0.0.1:{}", servers[0].inner().port());
        let named = format!("the certificate of {address} has expired");
        let refused = async {
            loop {
                let error = locks.lock("free").try_acquire().await.unwrap_err();
                assert!(error.is_temporary(), "{}", whole(&error));
                // The first call may only report that the connection is closed.
                if whole(&error).contains(&named) {
                    return;
                }
            }
        };
        soon(refused).await;
    }
    let waiting = managers
        .iter()
        .zip(["a", "b"])
        .map(|(locks, key)| tokio::spawn(locks.lock(key).ttl(TTL).acquire()));
    let waiting: Vec<_> = waiting.collect();
    everywhere(renewed.collect()).await;
    for waiting in waiting {
        let next = soon(waiting).await.unwrap().unwrap();
        next.release().await.unwrap();
    }
}
