//! No error, event, span or `Debug` output contains a password, or an id with which the lock could be taken over.
//!
//! This file has only one test, because `tracing` caches per process which subscribers are interested in an event.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::error::Error;
use std::fmt::Debug;
use std::mem;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::{LockManager, RedisFenceStore};
use leasehold_testkit::servers::{RedisServer, SentinelRedis, ZooKeeperServer};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// The secret that is put everywhere where a secret can be. Its digits could be a port.
const SECRET: &str = "55512hunter2";
const PARTS: [&str; 2] = ["55512", "hunter2"];

/// All captured texts.
#[derive(Clone, Default)]
struct Told {
    texts: Arc<Mutex<Vec<String>>>,
    /// Texts of other crates. The client of `ZooKeeper` logs the names of nodes.
    of_others: Arc<Mutex<Vec<String>>>,
}

impl Told {
    fn add(&self, about: &str, text: &str) {
        self.texts.lock().unwrap().push(format!("{about}: {text}"));
    }

    fn shown(&self, value: &impl Debug) {
        self.add("Debug", &format!("{value:?} {value:#?}"));
    }

    fn error(&self, error: &(dyn Error + 'static)) {
        self.add("Debug of an error", &format!("{error:?}"));
        let mut cause = Some(error);
        while let Some(error) = cause {
            self.add("error", &error.to_string());
            cause = error.source();
        }
    }
}

impl Visit for Told {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add(field.name(), &format!("{value:?}"));
    }

    fn record_error(&mut self, _field: &Field, value: &(dyn Error + 'static)) {
        self.error(value);
    }
}

impl<S: Subscriber> Layer<S> for Told {
    fn on_new_span(&self, span: &Attributes<'_>, _id: &Id, _context: Context<'_, S>) {
        span.record(&mut self.clone());
    }

    fn on_record(&self, _id: &Id, values: &Record<'_>, _context: Context<'_, S>) {
        values.record(&mut self.clone());
    }

    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut told = self.clone();
        if !event.metadata().target().starts_with("leasehold") {
            mem::swap(&mut told.texts, &mut told.of_others);
        }
        event.record(&mut told);
    }
}

/// Returns valid and almost valid URLs of backends. No server listens at port 1.
fn urls() -> Vec<String> {
    let of_redis = [
        "redis://u:SECRET@127.0.0.1:1",
        "redis://:SECRET@127.0.0.1:1",
        "redis://u:SECRET@127.0.0.1:1/x",
        "redis://u:SECRET@127.0.0.1:port",
        "redis://u:55512/hunter2@127.0.0.1:1",
        "redis://u:55512?hunter2@127.0.0.1:1",
        "redis://u:55512#hunter2@127.0.0.1:1",
        "redis://127.0.0.1:1?password=SECRET",
        "redis:/u:SECRET@127.0.0.1:1",
        "redis:u:SECRET@127.0.0.1:1",
        "rediss://u:SECRET@127.0.0.1:1",
        "unix:///nowhere?user=u&pass=SECRET",
        "redis+sentinel://u:SECRET@127.0.0.1:1/main?sentinel_password=SECRET",
        "redis+sentinel://u:SECRET@127.0.0.1:1",
        "redis+sentinel://u:SECRET@127.0.0.1:1/main?password=SECRET",
        "redis+sentinel://u:55512/hunter2@127.0.0.1:1/main",
        "redis+sentinel://u:55512?hunter2=x@127.0.0.1:1/main",
        "redis+sentinel://u:55512#hunter2@127.0.0.1:1/main",
        "redis+cluster://u:SECRET@127.0.0.1:1",
        "redis+cluster://u:SECRET@127.0.0.1:1/3",
        "redis+cluster://u:55512/hunter2@127.0.0.1:1",
        "redis+cluster://u:55512?hunter2=x@127.0.0.1:1",
        "redlock://u:SECRET@127.0.0.1:1,127.0.0.2:1",
        "redlock://u:SECRET@127.0.0.1:1,127.0.0.1:1",
        "redlock://u:55512/hunter2@127.0.0.1:1",
        "redlock://u:55512?hunter2@127.0.0.1:1",
    ];
    let others = [
        "zookeeper://u:SECRET@127.0.0.1:1/locks",
        "zookeeper://SECRET@127.0.0.1:1/locks",
        "zookeeper://u:%zzSECRET@127.0.0.1:1/locks",
        "zookeeper://u:55512/hunter2@127.0.0.1:1/locks",
        "zookeeper://u:SECRET/x@127.0.0.1:1/locks",
        "zookeeper://u:SECRET",
        "zookeeper+tls://u:SECRET@127.0.0.1:1/locks",
        "u:SECRET@127.0.0.1:1",
        "SECRET",
        "u:SECRET@127.0.0.1://1",
        "postgres://u:SECRET@127.0.0.1:1",
    ];
    let all = of_redis.into_iter().chain(others);
    all.map(|url| url.replace("SECRET", SECRET)).collect()
}

#[tokio::test]
async fn no_error_event_or_debug_output_contains_a_password() {
    let told = Told::default();
    let subscriber = tracing_subscriber::registry().with(told.clone());
    tracing::subscriber::set_global_default(subscriber).unwrap();

    for url in urls() {
        told.error(&LockManager::connect(&url).await.unwrap_err());
        if let Err(error) = Redis::connect(&url).await {
            told.error(&error);
        }
        if let Err(error) = RedisFenceStore::connect(&url).await {
            told.error(&error);
        }
        let nodes = Redlock::new([url.clone()]);
        told.shown(&nodes);
        told.error(&nodes.connect().await.unwrap_err());
        told.error(&ZooKeeper::connect(&url).await.unwrap_err());
    }
    let key = format!("-----BEGIN PRIVATE KEY-----\n{SECRET}\n-----END PRIVATE KEY-----\n");
    let redis = Redis::builder()
        .authorities(&key)
        .client_certificate(&key, &key);
    told.shown(&redis);
    told.error(&redis.connect("rediss://127.0.0.1:1").await.unwrap_err());
    let nodes = Redlock::new(["rediss://127.0.0.1:1"]).client_certificate(&key, &key);
    told.shown(&nodes);
    told.error(&nodes.connect().await.unwrap_err());
    let zookeeper = ZooKeeper::builder()
        .digest("u", SECRET)
        .share_with("digest", format!("u:{SECRET}"))
        .client_certificate(&key, &key);
    told.shown(&zookeeper);
    let unreached = zookeeper.connect("zookeeper+tls://127.0.0.1:1");
    told.error(&unreached.await.unwrap_err());

    // One URL has the correct password, and the other has a wrong password.
    let server = RedisServer::builder()
        .password(SECRET)
        .start()
        .await
        .unwrap();
    let redis = Redis::connect(&server.url()).await.unwrap();
    told.shown(&redis);
    let locks = LockManager::new(redis);
    told.shown(&locks);
    let guard = locks.lock("k").acquire().await.unwrap();
    told.shown(&guard);
    let fences = RedisFenceStore::connect(&server.url()).await.unwrap();
    told.shown(&fences);
    let nodes = Redlock::new([server.url()]).durable_nodes(true);
    let nodes = nodes.connect().await.unwrap();
    told.shown(&nodes);
    let other = RedisServer::builder().password("another").start().await;
    let other = other
        .unwrap()
        .url_at(server.port())
        .replace("another", &SECRET[1..]);
    told.error(&LockManager::connect(&other).await.unwrap_err());
    server.kill();
    told.error(&guard.release().await.unwrap_err());
    let wait = Duration::from_millis(200);
    told.error(&locks.lock("k").wait(wait).acquire().await.unwrap_err());
    let nodes = LockManager::new(nodes);
    told.error(&nodes.lock("k").try_acquire().await.unwrap_err());
    with_sentinels(&told).await;
    in_a_cluster(&told).await;
    in_a_folder_of_one_user(&told).await;

    let others = told.of_others.lock().unwrap();
    let told = told.texts.lock().unwrap();
    assert!(told.len() > 100, "{} texts", told.len());
    let leaks = told
        .iter()
        .chain(&*others)
        .filter(|text| PARTS.iter().any(|part| text.contains(part)));
    let leaks: Vec<_> = leaks.collect();
    assert!(leaks.is_empty(), "{leaks:#?}");
    let ids: Vec<_> = told.iter().filter(|text| has_an_id(text)).collect();
    assert!(ids.is_empty(), "{ids:#?}");
    let owners = told.iter().filter(|text| text.starts_with("lock.owner: "));
    assert!(owners.count() > 5, "{told:#?}");
}

/// Returns whether a text contains an owner id or the secret of a handover: five groups of hex digits, separated by
/// hyphens.
fn has_an_id(text: &str) -> bool {
    let mut words = text.split(|it: char| !it.is_ascii_hexdigit() && it != '-');
    words.any(|word| word.len() >= 36 && word.matches('-').count() >= 4)
}

/// Captures the output of a manager that has the secret, and of its locks.
async fn live(told: &Told, locks: &LockManager) {
    told.shown(locks);
    let guard = locks.lock("k").acquire().await.unwrap();
    told.shown(&guard);
    told.shown(&locks.inspect("k").await.unwrap());
    if locks.capabilities().handover {
        let ticket = guard.hand_over().await.unwrap();
        told.shown(&ticket);
        let taken = locks.accept(&ticket).await.unwrap();
        taken.release().await.unwrap();
        told.error(&locks.accept(&ticket).await.unwrap_err());
    }
    let forced = locks.lock("forced").acquire().await.unwrap();
    assert!(locks.force_release("forced").await.unwrap());
    told.error(&forced.renew().await.unwrap_err());
}

async fn with_sentinels(told: &Told) {
    let redis = SentinelRedis::start_with_passwords(SECRET, &SECRET[1..]).await;
    let redis = redis.unwrap();
    let url = |servers: &str, sentinels: &str| {
        let (hosts, name) = (redis.hosts(), redis.name());
        format!("redis+sentinel://:{servers}@{hosts}/{name}?sentinel_password={sentinels}")
    };
    let locks = LockManager::connect(&url(SECRET, &SECRET[1..])).await;
    live(told, &locks.unwrap()).await;
    for wrong in [url(SECRET, SECRET), url(&SECRET[1..], &SECRET[1..])] {
        told.error(&LockManager::connect(&wrong).await.unwrap_err());
    }
}

async fn in_a_cluster(told: &Told) {
    let server = RedisServer::builder().password(SECRET);
    let server = server.arg("--cluster-enabled").arg("yes").start().await;
    let server = server.unwrap();
    let mut raw = server.client().await.unwrap();
    let share = ["CLUSTER", "ADDSLOTSRANGE", "0", "16383"];
    raw.command(share).await.unwrap();
    let url = |word: &str| format!("redis+cluster://:{word}@127.0.0.1:{}", server.port());
    let locks = LockManager::connect(&url(SECRET)).await.unwrap();
    live(told, &locks).await;
    let wrong = LockManager::connect(&url(&SECRET[1..])).await;
    told.error(&wrong.unwrap_err());
    server.kill();
    told.error(&locks.lock("k").try_acquire().await.unwrap_err());
}

async fn in_a_folder_of_one_user(told: &Told) {
    let server = ZooKeeperServer::start().await.unwrap();
    let url = |word: &str| format!("zookeeper://u:{word}@{}/locks", server.address());
    let zookeeper = ZooKeeper::connect(&url(SECRET)).await.unwrap();
    told.shown(&zookeeper);
    let locks = LockManager::new(zookeeper);
    live(told, &locks).await;
    let other = LockManager::connect(&url(&SECRET[1..])).await.unwrap();
    told.error(&other.lock("k").try_acquire().await.unwrap_err());
    server.kill();
    told.error(&locks.lock("k").try_acquire().await.unwrap_err());
}
