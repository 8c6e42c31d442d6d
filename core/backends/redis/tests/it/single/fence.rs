//! Fences on a real server: after restarts, with several connections, and with failures.

use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::{
    AdmitError, ConnectError, Error, FenceStore, FencingToken, RedisFenceStore, Stale,
};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use leasehold_testkit::servers::RedisBuilder;

use crate::single::server::Server;
use crate::single::server_errors::whole;

fn token(number: i64) -> FencingToken {
    FencingToken::try_from(number).unwrap()
}

async fn store(server: &Server) -> RedisFenceStore {
    RedisFenceStore::connect(&server.url()).await.unwrap()
}

async fn stale(fences: &dyn FenceStore, number: i64) -> Stale {
    match fences.admit("r", token(number)).await {
        Err(AdmitError::Stale(stale)) => stale,
        other => panic!("{number} should be stale: {other:?}"),
    }
}

#[tokio::test]
async fn the_newest_token_is_admitted_again_and_older_ones_refused_exactly() {
    let server = Server::start().await;
    let (one, two) = (store(&server).await, store(&server).await);
    // The numbers above 2^53 differ by one, and the numbers have different lengths.
    let rising = [5, 9, 10, 1 << 53, (1 << 53) + 1, i64::MAX - 1, i64::MAX];
    for (at, newest) in rising.into_iter().enumerate() {
        one.admit("r", token(newest)).await.unwrap();
        two.admit("r", token(newest)).await.unwrap();
        for older in &rising[..at] {
            let refused = stale(&two, *older).await;
            assert_eq!(
                (refused.token, refused.current),
                (token(*older), token(newest))
            );
        }
    }
    one.admit("other", token(1)).await.unwrap();
}

#[tokio::test]
async fn the_last_seen_token_is_at_the_documented_key_without_a_ttl() {
    let server = Server::start().await;
    let fences = store(&server).await;
    fences.admit("file:report", token(7)).await.unwrap();
    let mut raw = server.raw().await;
    let ask = async |raw: &mut _, words: &[&str]| {
        let mut command = redis::cmd(words[0]);
        command.arg(&words[1..]);
        command.query_async::<redis::Value>(raw).await.unwrap()
    };
    let keys = ask(&mut raw, &["KEYS", "*"]).await;
    let mark = "{fence:file:report}:lh1:mark";
    assert_eq!(
        redis::from_redis_value::<Vec<String>>(keys).unwrap(),
        [mark]
    );
    assert_eq!(ask(&mut raw, &["TTL", mark]).await, redis::Value::Int(-1));
    let other = store(&server).await.with_prefix("mine:").unwrap();
    other.admit("file:report", token(1)).await.unwrap();
    assert!(store(&server).await.with_prefix("a}b").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_of_concurrent_tokens_is_kept() {
    let server = Server::start().await;
    let fences = Arc::new(store(&server).await);
    let tasks: Vec<_> = (1..=200)
        .map(|number| {
            let fences = Arc::clone(&fences);
            tokio::spawn(async move { fences.admit("r", token(number)).await.is_ok() })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(stale(&*fences, 199).await.current, token(200));
}

#[tokio::test]
async fn the_last_seen_token_survives_a_restart_and_the_store_reconnects() {
    let server = Server::with(RedisBuilder::keeps_data).await;
    let fences = store(&server).await;
    fences.admit("r", token(6)).await.unwrap();
    server.kill();
    server.start_again().await;
    // Use the old connection, which is closed, and a new one.
    assert_eq!(stale(&fences, 5).await.current, token(6));
    assert_eq!(stale(&store(&server).await, 5).await.current, token(6));
    fences.admit("r", token(6)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_is_down_or_silent_admits_no_token_and_fails_in_time() {
    let server = Server::start().await;
    let fences = store(&server).await;
    let refused = async |name: &str, most: Duration| {
        let begun = Instant::now();
        let error = fences.admit("r", token(7)).await.unwrap_err();
        assert!(matches!(error, AdmitError::Store { .. }), "{error:?}");
        assert!(whole(&error).contains(name), "{}", whole(&error));
        assert!(begun.elapsed() < most, "{:?}", begun.elapsed());
    };
    server.kill();
    refused("connection refused", Duration::from_secs(20)).await;
    server.start_again().await;
    fences.admit("r", token(7)).await.unwrap();
    server.inner().pause().unwrap();
    refused("in time", Duration::from_secs(20)).await;
    server.inner().resume().unwrap();
    fences.admit("r", token(7)).await.unwrap();
}

#[tokio::test]
async fn the_next_admit_succeeds_after_lost_packets() {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    proxy.set(Direction::ToServer, Traffic::Drop);
    assert!(fences.admit("r", token(7)).await.is_err());
    proxy.pass();
    fences.admit("r", token(7)).await.unwrap();
}

#[tokio::test]
async fn invalid_resource_names_stored_tokens_and_urls_are_refused() {
    let server = Server::start().await;
    let fences = store(&server).await;
    let error = fences.admit("a}b", token(7)).await.unwrap_err();
    assert!(whole(&error).contains("remove it"), "{}", whole(&error));
    for foreign in ["text", "0", "-7", "7.5"] {
        let mut set = redis::cmd("SET");
        set.arg("{fence:r}:lh1:mark").arg(foreign);
        set.exec_async(&mut server.raw().await).await.unwrap();
        let error = fences.admit("r", token(7)).await.unwrap_err();
        assert!(
            error.source().is_some() && whole(&error).contains("something else"),
            "{}",
            whole(&error)
        );
    }
    let bad = RedisFenceStore::connect("redis://host:port")
        .await
        .unwrap_err();
    assert!(
        matches!(bad, Error::Connect(ConnectError::Url { .. })),
        "{bad}"
    );
    let cluster = RedisFenceStore::connect("redis+cluster://127.0.0.1:1").await;
    let told = whole(&cluster.unwrap_err());
    assert!(told.contains("needs a single server"), "{told}");
    let down = RedisFenceStore::connect("redis://127.0.0.1:1")
        .await
        .unwrap_err();
    assert!(
        matches!(down, Error::Connect(ConnectError::Server { .. })),
        "{down}"
    );
}

#[tokio::test]
async fn the_script_is_loaded_again_after_a_script_flush() {
    let server = Server::start().await;
    let fences = store(&server).await;
    fences.admit("r", token(7)).await.unwrap();
    let mut flush = redis::cmd("SCRIPT");
    flush
        .arg("FLUSH")
        .exec_async(&mut server.raw().await)
        .await
        .unwrap();
    fences.admit("r", token(8)).await.unwrap();
}

#[tokio::test]
async fn the_documented_privileges_are_enough() {
    let documentation = include_str!("../../../src/fence/mod.rs");
    let rights = documentation.split("default prefix: `").nth(1).unwrap();
    let rights = rights.split('`').next().unwrap().replace("\n///", "");
    let server = Server::with(|server| server.user("least", "pass", &rights)).await;
    let url = format!("redis://least:pass@127.0.0.1:{}", server.inner().port());
    let fences = RedisFenceStore::connect(&url).await.unwrap();
    fences.admit("r", token(7)).await.unwrap();
    assert_eq!(stale(&fences, 5).await.current, token(7));
}

#[tokio::test]
async fn an_error_reply_does_not_close_the_connection() {
    let server = Server::start().await;
    let fences = store(&server).await;
    let mut raw = server.raw().await;
    let mut push = redis::cmd("RPUSH");
    push.arg("{fence:r}:lh1:mark").arg("no mark");
    let () = push.query_async(&mut raw).await.unwrap();
    let mut connections = async || {
        let mut info = redis::cmd("INFO");
        let info = info.arg("stats").query_async::<String>(&mut raw).await;
        let line = "total_connections_received:";
        let told = info.unwrap();
        let count = told.lines().find_map(|it| it.strip_prefix(line));
        count.unwrap().parse::<u64>().unwrap()
    };
    let before = connections().await;
    for _ in 0..3 {
        fences.admit("r", token(7)).await.unwrap_err();
    }
    assert_eq!(connections().await, before);
}

/// A demoted or disconnected primary still replies, but does not know that another server has admitted a newer token.
#[tokio::test]
async fn a_server_that_accepts_no_writes_admits_no_token() {
    let server = Server::start().await;
    let fences = store(&server).await;
    fences.admit("r", token(7)).await.unwrap();
    let set = async |name: &str, value: &str| {
        let mut set = redis::cmd("CONFIG");
        set.arg(&["SET", name, value]);
        set.exec_async(&mut server.raw().await).await.unwrap();
    };
    set("min-replicas-to-write", "1").await;
    // The same holds if the server has also run out of memory.
    for memory in ["0", "1"] {
        set("maxmemory", memory).await;
        for number in [7, 8] {
            let error = fences.admit("r", token(number)).await.unwrap_err();
            assert!(matches!(error, AdmitError::Store { .. }), "{error:?}");
        }
        let again = fences.pipeline("r", token(7)).cmd("GET", ["data"]);
        assert!(again.execute().await.is_err());
    }
    // Valkey 9.1 checks its memory first, so a full server is not asked again.
    set("min-replicas-to-write", "0").await;
    for number in [7, 8] {
        assert!(fences.admit("r", token(number)).await.is_err());
    }
    set("maxmemory", "0").await;
    fences.admit("r", token(7)).await.unwrap();
    fences.admit("r", token(8)).await.unwrap();
}
