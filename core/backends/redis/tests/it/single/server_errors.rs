//! Errors for a misconfigured or unreachable server.

use std::error::Error as _;
use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{ConnectError, Error, LockManager};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::single::server::{Server, waiters};

/// Returns the message with all its causes.
pub(crate) fn whole(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

#[tokio::test]
async fn a_url_that_cannot_be_used_is_refused_with_the_remedy() {
    let unknown = LockManager::connect("memcached://host").await.unwrap_err();
    assert!(
        matches!(unknown, Error::Connect(ConnectError::UnknownScheme { .. })),
        "{unknown}"
    );
    assert!(unknown.to_string().contains("redis://"));
    let bad = LockManager::connect("redis://host:port").await.unwrap_err();
    assert!(
        matches!(bad, Error::Connect(ConnectError::Url { .. })),
        "{bad}"
    );
}

#[tokio::test]
async fn an_unreachable_server_is_an_immediate_error() {
    let started = Instant::now();
    let error = LockManager::connect("redis://127.0.0.1:1")
        .await
        .unwrap_err();
    assert!(
        whole(&error).contains("connection refused at 127.0.0.1:1"),
        "{}",
        whole(&error)
    );
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn an_unresolvable_host_name_is_named_in_the_error() {
    // A label has at most 63 characters, so this name is refused without a DNS query.
    let host = format!("{}.example", "a".repeat(64));
    let told = LockManager::connect(&format!("redis://{host}:6379")).await;
    let told = whole(&told.unwrap_err());
    let named = told.contains(&format!("the name in {host}:6379 could not be resolved"));
    assert!(named, "{told}");
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_not_shown() {
    let server = Server::with(|server| server.password("right")).await;
    let url = format!("redis://:wrong-secret@127.0.0.1:{}", server.inner().port());
    let error = LockManager::connect(&url).await.unwrap_err();
    assert!(whole(&error).contains("password"), "{}", whole(&error));
    let address = format!("127.0.0.1:{}", server.inner().port());
    assert!(whole(&error).contains(&address), "{}", whole(&error));
    assert!(!format!("{error:?} {}", whole(&error)).contains("wrong-secret"));
    let locks = LockManager::connect(&server.url()).await.unwrap();
    drop(locks.lock("k").acquire().await.unwrap());
    assert!(!format!("{locks:?}").contains("right"));
}

#[tokio::test]
async fn data_of_another_type_at_a_locks_key_is_a_permanent_error() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let mut push = redis::cmd("RPUSH");
    push.arg("lock:k")
        .arg("data")
        .exec_async(&mut raw)
        .await
        .unwrap();
    let started = Instant::now();
    let error = locks.lock("k").acquire().await.unwrap_err();
    assert!(
        matches!(error, Error::Backend { .. }) && !error.is_temporary(),
        "{error:?}"
    );
    assert!(
        whole(error.source().unwrap()).contains("prefix"),
        "{}",
        whole(&error)
    );
    assert!(started.elapsed() < Duration::from_secs(1));
    // A campaign does not retry this error either.
    let campaign = locks
        .election("k")
        .campaign(async |_leader| Ok::<_, Error>(()));
    let error = campaign.await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
}

#[tokio::test]
async fn a_full_server_still_releases_and_hands_off() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    let held = locks.lock("other").acquire().await.unwrap();
    let mut full = redis::cmd("CONFIG");
    full.arg("SET")
        .arg("maxmemory")
        .arg("1")
        .exec_async(&mut raw)
        .await
        .unwrap();

    let error = locks.lock("new").try_acquire().await.unwrap_err();
    assert!(whole(&error).contains("out of memory"), "{}", whole(&error));
    let mut exists = redis::cmd("EXISTS");
    exists.arg("lock:new").arg("{lock:new}:lh1:fence");
    let left: i64 = exists.query_async(&mut raw).await.unwrap();
    assert_eq!(left, 0, "what is refused leaves nothing");
    held.renew().await.unwrap();
    held.release().await.unwrap();
    guard.release().await.unwrap();
    // The hand-off succeeded. Its confirmation is another write, which succeeds when memory is available.
    let mut roomy = redis::cmd("CONFIG");
    roomy
        .arg("SET")
        .arg("maxmemory")
        .arg("0")
        .exec_async(&mut raw)
        .await
        .unwrap();
    drop(waiting.await.unwrap().unwrap());
}

/// Connects as a user with all privileges except channels.
async fn without_channels(server: &Server) -> LockManager {
    let mut user = redis::cmd("ACL");
    user.arg("SETUSER")
        .arg("quiet")
        .arg("on")
        .arg(">pass")
        .arg("~*")
        .arg("+@all")
        .arg("resetchannels");
    user.exec_async(&mut server.raw().await).await.unwrap();
    let url = format!("redis://quiet:pass@127.0.0.1:{}", server.inner().port());
    LockManager::new(Redis::connect(&url).await.unwrap())
}

#[tokio::test]
async fn without_channel_permission_releases_work_and_waiters_poll() {
    let server = Server::start().await;
    let locks = without_channels(&server).await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(locks.lock("k").acquire());
    waiters(&locks, 1).await;
    let released = Instant::now();
    guard.release().await.unwrap();
    drop(waiting.await.unwrap().unwrap());
    assert!(
        released.elapsed() < Duration::from_secs(10),
        "{:?}",
        released.elapsed()
    );
}

#[tokio::test]
async fn a_key_without_a_ttl_is_healed_only_with_the_option() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let mut orphan = redis::cmd("SET");
    orphan
        .arg("lock:k")
        .arg("died between two commands")
        .exec_async(&mut raw)
        .await
        .unwrap();

    let locks = server.locks().await;
    let ttl = Duration::from_millis(500);
    let wait = Duration::from_secs(2);
    let busy = locks.lock("k").ttl(ttl).wait(wait).acquire().await;
    assert!(matches!(busy, Err(Error::TimedOut { .. })), "{busy:?}");

    let healing = Redis::builder().heal_keys_without_ttl(true);
    let healing = LockManager::new(healing.connect(&server.url()).await.unwrap());
    let guard = healing
        .lock("k")
        .ttl(ttl)
        .wait(wait * 10)
        .acquire()
        .await
        .unwrap();
    drop(guard);
}

#[tokio::test]
async fn the_error_on_a_replica_says_that_it_is_a_replica() {
    let primary = Server::start().await;
    let port = primary.inner().port().to_string();
    let replica = Server::with(|server| server.arg("--replicaof").arg("127.0.0.1").arg(port)).await;
    let locks = replica.locks().await;
    let error = locks.lock("k").try_acquire().await.unwrap_err();
    assert!(whole(&error).contains("replica"), "{}", whole(&error));
}

#[tokio::test]
async fn a_url_with_a_unix_socket_and_a_database_number_works() {
    let server = Server::start().await;
    let socket = server.inner().socket();
    let socket = socket.to_str().unwrap();
    let one = LockManager::connect(&format!("unix://{socket}?db=1"))
        .await
        .unwrap();
    let two = LockManager::connect(&format!("unix://{socket}?db=2"))
        .await
        .unwrap();
    let _guard = one.lock("k").acquire().await.unwrap();
    assert!(one.lock("k").try_acquire().await.unwrap().is_none());
    assert!(two.lock("k").try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn the_documented_privileges_are_enough() {
    let documentation = include_str!("../../../src/lib.rs");
    let rights = documentation.split("/// ```text").nth(1).unwrap();
    let rights = rights.split("/// ```").next().unwrap().replace("///", "");
    let server = Server::with(|server| server.user("least", "pass", &rights)).await;
    let url = format!("redis://least:pass@127.0.0.1:{}", server.inner().port());
    let locks = LockManager::new(Redis::connect(&url).await.unwrap());
    let mut late = Vec::new();
    // A busy machine may be late in some rounds. A waiter that is not woken is late in each.
    while late.len() < 10 {
        let guard = locks.lock("k").acquire().await.unwrap();
        let waiting = tokio::spawn(locks.lock("k").acquire());
        waiters(&locks, 1).await;
        guard.renew().await.unwrap();
        let released = Instant::now();
        guard.release().await.unwrap();
        drop(waiting.await.unwrap().unwrap());
        let waited = released.elapsed();
        locks.force_release("k").await.unwrap();
        if waited < Duration::from_millis(900) {
            return;
        }
        late.push(waited);
    }
    panic!("nobody was woken: {late:?}");
}

#[tokio::test]
async fn a_server_without_a_free_connection_is_named_in_the_error() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let mut limit = redis::cmd("CONFIG");
    limit.arg("SET").arg("maxclients").arg(1);
    let () = limit.query_async(&mut raw).await.unwrap();
    // The error does not depend on whether the server closes the connection before the client has sent its commands.
    for _ in 0..20 {
        let error = LockManager::connect(&server.url()).await.unwrap_err();
        assert!(error.is_temporary(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("max number of clients reached") && text.contains("raise maxclients"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_server_that_closes_the_connection_at_once_is_told_with_the_possible_reasons() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let closing = tokio::spawn(async move {
        loop {
            drop(listener.accept().await);
        }
    });
    let error = LockManager::connect(&url).await.unwrap_err();
    assert!(error.to_string().contains("must support RESP3"), "{error}");
    closing.abort();
}

/// The greeting of a server in protected mode, up to its first sentence. A real one greets only clients of other machines so.
const PROTECTED: &[u8] = b"-DENIED Redis is running in protected mode because protected mode is enabled and no password \
    is set for the default user.\r\n";

#[tokio::test]
async fn a_server_in_protected_mode_is_named_in_the_error() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("redis://{}", listener.local_addr().unwrap());
    let refusing = tokio::spawn(async move {
        loop {
            let (mut client, _) = listener.accept().await.unwrap();
            client.write_all(PROTECTED).await.unwrap();
        }
    });
    for _ in 0..20 {
        let error = LockManager::connect(&url).await.unwrap_err();
        assert!(!error.is_temporary(), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("is in protected mode") && text.contains("set a password"),
            "{text}"
        );
    }
    refusing.abort();
}

#[tokio::test]
async fn a_renamed_command_is_told_once() {
    let server = Server::with(|it| it.arg("--rename-command").arg("SCRIPT").arg("")).await;
    let error = LockManager::connect(&server.url()).await.unwrap_err();
    assert!(!error.is_temporary(), "{error}");
    let text = error.to_string();
    assert_eq!(text.matches("SCRIPT").count(), 1, "{text}");
    assert!(text.contains("lacks a command"), "{text}");
    assert!(!text.contains("with args"), "{text}");
}

#[tokio::test]
async fn a_server_without_hello_does_not_reveal_the_password() {
    let server = Server::with(|it| {
        let it = it.password("right-secret");
        it.arg("--rename-command").arg("HELLO").arg("")
    })
    .await;
    let error = LockManager::connect(&server.url()).await.unwrap_err();
    assert!(error.to_string().contains("lacks a command"), "{error}");
    assert!(
        !format!("{error} {error:?}").contains("secret"),
        "{error:?}"
    );
}
