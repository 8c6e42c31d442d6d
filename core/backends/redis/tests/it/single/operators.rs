//! What operators see on a server: names of connections, labels in values, and lists of many keys.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::Backend as _;
use leasehold::backend::redis::Redis;
use leasehold_testkit::resp::RawClient;
use redis::aio::MultiplexedConnection;

use crate::documented_privileges::{PASSWORD, USER, least, make_user, refused};
use crate::single::server::Server;

/// The number of locks in a long list.
const MANY: usize = 30_000;

async fn evaluate(raw: &mut MultiplexedConnection, script: &str) {
    let () = redis::cmd("EVAL")
        .arg(script)
        .arg(0)
        .query_async(raw)
        .await
        .unwrap();
}

async fn call<T: redis::FromRedisValue>(raw: &mut MultiplexedConnection, words: &[&str]) -> T {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command.query_async(raw).await.unwrap()
}

/// Returns the names of the other connections.
async fn names(raw: &mut MultiplexedConnection) -> Vec<String> {
    let own: u64 = call(raw, &["CLIENT", "ID"]).await;
    let list: String = call(raw, &["CLIENT", "LIST"]).await;
    let own = format!("id={own} ");
    let others = list.lines().filter(|line| !line.starts_with(&own));
    let names = others.filter_map(|line| line.split(' ').find_map(|it| it.strip_prefix("name=")));
    names.map(str::to_owned).collect()
}

#[tokio::test]
async fn connections_have_the_label_of_their_manager() {
    let server = Server::start().await;
    let mut raw = server.raw_with_timeout(None).await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    assert_eq!(names(&mut raw).await, [""]);
    locks.shutdown().await.unwrap();

    let labelled = LockManager::builder().label("api-7/é".trim_end_matches('é'));
    let labelled = labelled.connect(&server.url()).await.unwrap();
    while names(&mut raw).await != ["api-7/"] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    labelled.shutdown().await.unwrap();

    let redis = Redis::builder()
        .client_name("waits")
        .synced(1, Duration::from_millis(10));
    let locks = LockManager::new(redis.connect(&server.url()).await.unwrap());
    let _unacknowledged = locks.lock("k").try_acquire().await;
    while names(&mut raw).await != ["waits", "waits"] {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn an_invalid_client_name_or_label_is_refused() {
    for invalid in ["", "a b", "é"] {
        let redis = Redis::builder().client_name(invalid);
        let error = redis.connect("redis://127.0.0.1:1").await.unwrap_err();
        let error = format!("{error:?}");
        assert!(error.contains("Label"), "{error}");
        let manager = LockManager::builder().label(invalid);
        let error = manager.connect("redis://127.0.0.1:1").await.unwrap_err();
        assert!(
            error.to_string().contains(&format!("{invalid:?}")),
            "{error}"
        );
    }
}

async fn user(rights: &[&str]) -> (Server, RawClient, String) {
    let server = Server::start().await;
    let mut client = server.inner().client().await.unwrap();
    make_user(&mut client, rights).await;
    let port = server.inner().port();
    (
        server,
        client,
        format!("redis://{USER}:{PASSWORD}@127.0.0.1:{port}"),
    )
}

#[tokio::test]
async fn a_label_needs_no_permission() {
    let (_server, _client, url) = user(&least(&[])).await;
    let locks = LockManager::builder()
        .label("api-7")
        .connect(&url)
        .await
        .unwrap();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.held_by[0].label.as_deref(), Some("api-7"));
    let refused = locks.list("").next().await.unwrap_err();
    assert!(!refused.is_temporary(), "{refused}");
}

#[tokio::test]
async fn a_list_needs_the_documented_permissions() {
    let rights = least(&["LockManager::list) the user also needs"]);
    let (_server, mut client, url) = user(&rights).await;
    let locks = LockManager::connect(&url).await.unwrap();
    let _guard = locks.lock("k").acquire().await.unwrap();
    let mut list = locks.list("");
    assert_eq!(list.next().await.unwrap().unwrap().key, "k");
    assert!(list.next().await.unwrap().is_none());
    assert_eq!(refused(&mut client).await, Vec::<String>::new());
}

#[tokio::test]
async fn the_value_of_a_lock_names_its_holder() {
    let server = Server::start().await;
    let mut raw = server.raw_with_timeout(None).await;
    let manager = LockManager::builder().label("api-7");
    let locks = manager
        .build(Redis::connect(&server.url()).await.unwrap())
        .unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    let value: String = call(&mut raw, &["GET", "lock:k"]).await;
    assert_eq!(value, format!("{}@api-7", guard.attempt_id().reveal()));
    // A handover compares the holder without its label.
    let ticket = guard.hand_over().await.unwrap();
    let other = LockManager::builder().label("api-8");
    let other = other
        .build(Redis::connect(&server.url()).await.unwrap())
        .unwrap();
    let guard = other.accept(&ticket).await.unwrap();
    let value: String = call(&mut raw, &["GET", "lock:k"]).await;
    assert_eq!(value, format!("{}@api-8", guard.attempt_id().reveal()));
    guard.renew().await.unwrap();
    guard.release().await.unwrap();
}

#[tokio::test]
async fn an_operator_who_deletes_the_key_ends_all_permits() {
    let server = Server::start().await;
    let (locks, mut raw) = (server.locks().await, server.raw_with_timeout(None).await);
    let permits = locks.semaphore("k", 2).ttl(Duration::from_secs(3));
    let (one, other) = (
        permits.clone().acquire().await,
        permits.clone().acquire().await,
    );
    let deleted: u8 = call(&mut raw, &["DEL", "lock:k"]).await;
    assert_eq!((deleted, locks.inspect("k").await.unwrap().holders), (1, 0));
    let _next = permits.acquire_many(2).await.unwrap();
    one.unwrap().ended().await;
    other.unwrap().ended().await;
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!((seen.holders, seen.held_by.len()), (2, 1));
}

#[tokio::test]
async fn keys_of_other_programs_are_not_in_a_list() {
    let server = Server::start().await;
    let mut raw = server.raw_with_timeout(None).await;
    let manager = LockManager::builder().prefix("");
    let locks = manager
        .build(Redis::connect(&server.url()).await.unwrap())
        .unwrap();
    let _guard = locks.lock("a*[b]").acquire().await.unwrap();
    let _tagged = locks.lock("order:{42}").acquire().await.unwrap();
    evaluate(
        &mut raw,
        "redis.call('SET', 'text', 'x'); redis.call('SET', 'large', string.rep('x', 2000000)) \
         redis.call('SET', 'bytes', '\\255\\254'); redis.call('SET', '\\255', 'x') \
         redis.call('SET', 'a*b', '6f1f0bd0-2d0a-4a0c-8f3e-0d8a9a3f7c11') \
         redis.call('HSET', 'hash', 'f', 'v'); redis.call('ZADD', 'sorted', 1, 'v'); redis.call('SADD', 'set', 'v')",
    )
    .await;
    for (prefix, expected) in [("", vec!["a*[b]", "order:{42}"]), ("a*[", vec!["a*[b]"])] {
        let (mut list, mut keys) = (locks.list(prefix), BTreeSet::new());
        while let Some(lock) = list.next().await.unwrap() {
            keys.insert(lock.key);
        }
        assert_eq!(Vec::from_iter(&keys), expected, "{prefix:?}");
    }
}

/// Lists all locks, and returns the commands that took the server more than a millisecond.
async fn slow_commands(
    locks: &LockManager,
    raw: &mut MultiplexedConnection,
) -> HashSet<Vec<Vec<u8>>> {
    let () = call(raw, &["SLOWLOG", "RESET"]).await;
    let (mut list, mut keys) = (locks.list("many:"), HashSet::new());
    while let Some(lock) = list.next().await.unwrap() {
        keys.insert(lock.key);
    }
    assert_eq!(keys.len(), MANY + 1);
    type Entry = (u64, u64, u64, Vec<Vec<u8>>);
    let entries: Vec<redis::Value> = call(raw, &["SLOWLOG", "GET", "100000"]).await;
    let commands = entries.into_iter().map(|entry| {
        let redis::Value::Array(mut fields) = entry else {
            panic!("{entry:?}");
        };
        fields.truncate(4);
        let (_, _, _, words): Entry = redis::from_redis_value(redis::Value::Array(fields)).unwrap();
        words
    });
    commands.collect()
}

/// A busy machine may delay any command, but not the same command each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_many_locks_has_no_slow_command_and_small_pages() {
    let server = Server::start().await;
    let mut raw = server.raw_with_timeout(None).await;
    for first in (1..=MANY).step_by(MANY / 20) {
        let last = first + MANY / 20 - 1;
        let script = format!(
            "for n = {first}, {last} do local key = 'lock:many:' .. n \
             redis.call('SET', key, string.format('%08d-2d0a-4a0c-8f3e-0d8a9a3f7c11@api', n), 'PX', 600000) \
             redis.call('SET', '{{' .. key .. '}}:lh1:fence', n .. ' x', 'PX', 600000) end"
        );
        evaluate(&mut raw, &script).await;
    }
    let redis = Redis::connect(&server.url()).await.unwrap();
    let (mut cursor, mut largest, mut pages) = (None, 0, 0);
    loop {
        let page = redis.list("lock:many:", cursor.as_ref()).await.unwrap();
        (largest, pages) = (largest.max(page.locks.len()), pages + 1);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    println!("the largest of {pages} pages has {largest} locks");
    assert!(largest <= 300, "{largest} locks on a page");

    let locks = LockManager::new(redis);
    let permits = locks
        .semaphore("many:permits", 9_000)
        .ttl(Duration::from_secs(600));
    let _held = permits.without_renewal().acquire_many(9_000).await.unwrap();
    for setting in [
        ["slowlog-log-slower-than", "1000"],
        ["slowlog-max-len", "100000"],
    ] {
        let () = call(&mut raw, &["CONFIG", "SET", setting[0], setting[1]]).await;
    }
    let mut slow = slow_commands(&locks, &mut raw).await;
    println!("{} slow commands at first", slow.len());
    for _ in 0..30 {
        if slow.is_empty() {
            break;
        }
        let again = slow_commands(&locks, &mut raw).await;
        slow.retain(|command| again.contains(command));
    }
    // There are thousands of these, so a busy machine delays one of them each time.
    slow.remove(&vec![b"TIME".to_vec()]);
    assert!(slow.is_empty(), "{slow:?}");
}
