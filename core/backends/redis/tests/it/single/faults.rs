//! Lost replies, late requests and cut connections between a client and the server.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{EndReason, LockManager};
use leasehold_testkit::proxy::{ChaosPlan, Direction, Proxy, Traffic, Which};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::single::server::Server;

struct Scene {
    server: Server,
    proxy: Proxy,
    /// Connects through the proxy.
    locks: LockManager,
    /// Connects directly.
    other: LockManager,
}

impl Scene {
    async fn new() -> Self {
        let server = Server::start().await;
        let proxy = Proxy::start(server.inner().port()).await.unwrap();
        let url = format!("redis://127.0.0.1:{}", proxy.port());
        // Several times the time after which a lost reply is noticed, on a busy machine.
        let locks = LockManager::builder().backend_retry_timeout(Duration::from_secs(60));
        let redis = Redis::connect(&url).await.unwrap();
        Self {
            locks: locks.build(redis).unwrap(),
            other: server.locks().await,
            server,
            proxy,
        }
    }

    async fn becomes_free(&self, key: &str, limit: Duration) {
        let started = Instant::now();
        while !self.other.inspect(key).await.unwrap().is_free() {
            let seen = self.other.inspect(key).await.unwrap();
            assert!(started.elapsed() < limit, "{key}: {seen:?}");
            sleep(Duration::from_millis(10)).await;
        }
    }
}

#[tokio::test]
async fn a_request_delivered_after_the_cleanup_acquires_nothing() {
    let scene = Scene::new().await;
    scene
        .proxy
        .hold_requests(Which::mentioning("lock:k").times(1));
    let acquire = tokio::spawn(scene.locks.lock("k").acquire());
    scene
        .proxy
        .until("the request is held", |s| s.held >= 1)
        .await
        .unwrap();
    acquire.abort();
    drop(acquire.await);
    // The cleanup uses a new connection.
    scene.proxy.cut();
    let mut raw = scene.server.raw().await;
    let started = Instant::now();
    loop {
        let sealed: Vec<String> = redis::cmd("KEYS")
            .arg("*sealed*")
            .query_async(&mut raw)
            .await
            .unwrap();
        if !sealed.is_empty() {
            break;
        }
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "no cleanup came"
        );
        sleep(Duration::from_millis(10)).await;
    }
    scene.proxy.deliver_held().await.unwrap();
    assert!(scene.other.inspect("k").await.unwrap().is_free());
    drop(scene.other.lock("k").try_acquire().await.unwrap().unwrap());
}

#[tokio::test]
async fn a_grant_whose_reply_is_lost_is_confirmed_by_a_retry() {
    let scene = Scene::new().await;
    scene
        .proxy
        .lose_replies(Which::mentioning("lock:k").times(1));
    // Without a retry this would wait for the lost reply.
    let acquire = timeout(Duration::from_secs(30), scene.locks.lock("k").acquire());
    let guard = acquire.await.unwrap().unwrap();
    let seen = scene.other.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(guard.token()));
    guard.release().await.unwrap();
    assert!(scene.other.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn a_release_after_an_unanswered_request_leaves_a_tombstone() {
    let scene = Scene::new().await;
    scene.proxy.cut_after(Which::mentioning("lock:k").times(1));
    let guard = scene.locks.lock("k").acquire().await.unwrap();
    let mut raw = scene.server.raw().await;
    let mut get = redis::cmd("GET");
    let owner: String = get.arg("lock:k").query_async(&mut raw).await.unwrap();
    guard.release().await.unwrap();
    // A duplicate of the request may still be in flight.
    let mut exists = redis::cmd("EXISTS");
    let (owner, _label) = owner.split_once('@').unwrap();
    let exists = exists.arg(format!("{{lock:k}}:lh1:sealed:{owner}"));
    assert_eq!(exists.query_async::<u8>(&mut raw).await.unwrap(), 1);
}

#[tokio::test]
async fn a_disconnected_holder_is_lost_by_its_deadline_and_the_next_token_is_larger() {
    let scene = Scene::new().await;
    let ttl = Duration::from_secs(2);
    let guard = scene.locks.lock("k").ttl(ttl).acquire().await.unwrap();
    scene.proxy.set(Direction::ToServer, Traffic::Drop);
    scene.proxy.set(Direction::ToClient, Traffic::Drop);
    // No later renewal has a reply.
    let (deadline, ended) = (Instant::now() + ttl, guard.ended());
    sleep_until(deadline).await;
    // This holds however late this task runs.
    assert!(!guard.is_valid());
    assert_eq!(ended.await.reason, EndReason::Expired);
    let next = scene.other.lock("k").acquire().await.unwrap();
    assert!(next.token() > guard.token());
    scene.proxy.pass();
    scene.proxy.cut();
}

#[tokio::test]
async fn a_connection_that_never_replies_is_replaced() {
    let scene = Scene::new().await;
    let ttl = Duration::from_secs(6);
    let guard = scene.locks.lock("k").ttl(ttl).acquire().await.unwrap();
    // This connection never replies, but a new one would.
    scene.proxy.lose_replies(Which::every().times(1));
    sleep(ttl * 2).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_silent_connection_is_replaced_even_with_short_ttls() {
    let scene = Scene::new().await;
    scene.proxy.lose_replies(Which::every().times(1));
    let ttl = Duration::from_millis(300);
    let started = Instant::now();
    while scene.locks.lock("k").ttl(ttl).try_acquire().await.is_err() {
        assert!(started.elapsed() < Duration::from_secs(30), "still silent");
    }
}

#[tokio::test]
async fn a_cancelled_acquire_does_not_close_an_idle_connection() {
    let mut connections = Vec::new();
    // A busy machine may be silent for so long itself, but not each time.
    while connections.len() < 10 {
        let scene = Scene::new().await;
        // Longer than the time after which a silent connection is replaced.
        sleep(Duration::from_millis(1200)).await;
        let delay = Duration::from_millis(50);
        scene.proxy.set(Direction::ToServer, Traffic::Delay(delay));
        let cancelled = timeout(delay / 10, scene.locks.lock("k").acquire()).await;
        assert!(cancelled.is_err());
        scene.becomes_free("k", Duration::from_secs(20)).await;
        drop(scene.locks.lock("k").acquire().await.unwrap());
        connections.push(scene.proxy.stats().connections);
        if connections.ends_with(&[1]) {
            return;
        }
    }
    panic!("{connections:?} connections");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acquires_dropped_at_random_under_network_faults_leave_no_locks() {
    const DROPS: u64 = 500;
    const SEED: u64 = 20_261_121;
    let scene = Scene::new().await;
    let plan = ChaosPlan {
        delay: 0.3,
        longest_delay: Duration::from_millis(10),
        // Each lost reply makes a connection silent, which is noticed after a second.
        lose_reply: 0.003,
        cut_before: 0.02,
        cut_after: 0.02,
        orphan: 0.02,
    };
    scene.proxy.chaos(SEED, plan);
    let mut random = fastrand::Rng::with_seed(SEED);
    let (mut dropped, mut granted) = (0, 0);
    let mut round = 0;
    // On a busy machine, fewer are granted in time. So it tries on, and waits for longer.
    while round < DROPS || (granted <= DROPS / 20 && round < DROPS * 40) {
        let key = format!("k{}", round % 50);
        let at = Duration::from_micros(random.u64(..40_000) * (1 + round / DROPS));
        round += 1;
        match timeout(at, scene.locks.lock(key).acquire()).await {
            Ok(Ok(guard)) => {
                granted += 1;
                drop(guard);
            }
            Ok(Err(_failed)) => {}
            Err(_elapsed) => dropped += 1,
        }
    }
    println!("{round} acquires: {dropped} dropped under way, {granted} granted");
    assert!(
        dropped > DROPS / 4 && granted > DROPS / 20,
        "{dropped} dropped, {granted} granted"
    );
    scene.proxy.pass();
    scene.proxy.cut();
    for n in 0..50 {
        let key = format!("k{n}");
        // Shorter than a lease of 30 s.
        scene.becomes_free(&key, Duration::from_secs(20)).await;
        drop(scene.other.lock(&key).try_acquire().await.unwrap().unwrap());
    }
    scene.locks.shutdown().await.unwrap();
    let mut raw = scene.server.raw().await;
    let keys: Vec<String> = redis::cmd("KEYS")
        .arg("*")
        .query_async(&mut raw)
        .await
        .unwrap();
    for key in keys {
        assert!(
            key.ends_with(":fence") || key.contains(":sealed:"),
            "{key} is left"
        );
    }
}
