//! Lost messages and cut connections between a holder and its server.

use std::pin::pin;
use std::slice::from_ref;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::poll;
use leasehold::backend::zookeeper::ZooKeeper;
use leasehold::backend::{Attempt, Backend, RenewAnswer};
use leasehold::{EndReason, Error, Key, LockManager};
use leasehold_testkit::proxy::{Direction, Proxy, Traffic};
use tokio::time::{Instant, sleep, timeout};
use zookeeper_client::{Acl, AuthId, Permission};

use crate::server::{
    LASTING, SESSION, SOON, alone, becomes_free, connect, patient, take, with_sessions,
};

struct Scene {
    proxy: Proxy,
    /// Connects through the proxy.
    locks: LockManager,
    /// Connects directly.
    other: LockManager,
}

impl Scene {
    async fn new() -> Self {
        Self::with(LASTING).await
    }

    /// Creates the scene with sessions of this length.
    async fn with(session: Duration) -> Self {
        let server = alone().await;
        let proxy = Proxy::start_bytes(server.port()).await.unwrap();
        let backend = with_sessions(session, &format!("127.0.0.1:{}", proxy.port())).await;
        Self {
            locks: patient().build(backend).unwrap(),
            other: patient().build(connect(&server.address()).await).unwrap(),
            proxy,
        }
    }

    /// Connects through the proxy, without a manager.
    async fn backend(&self, session: Duration) -> ZooKeeper {
        with_sessions(session, &format!("127.0.0.1:{}", self.proxy.port())).await
    }

    /// Creates the container, so that the next request for this key creates a node.
    async fn make_container(&self, key: &str) {
        let guard = self.other.lock(key).acquire().await.unwrap();
        guard.release().await.unwrap();
    }

    fn cut_off(&self) {
        self.proxy.set(Direction::ToServer, Traffic::Drop);
        self.proxy.set(Direction::ToClient, Traffic::Drop);
    }

    fn reconnect(&self) {
        self.proxy.pass();
        self.proxy.cut();
    }
}

fn fresh(name: &str) -> String {
    format!("{name}:{}", leasehold::AttemptId::random())
}

#[tokio::test]
async fn all_guards_of_a_disconnected_holder_are_lost_before_the_next_grant() {
    let scene = Scene::with(SESSION).await;
    let keys = [fresh("cut_off"), fresh("cut_off")];
    let guards = [
        scene.locks.lock(&keys[0]).acquire().await.unwrap(),
        scene.locks.lock(&keys[1]).acquire().await.unwrap(),
    ];
    scene.cut_off();
    for (key, guard) in keys.iter().zip(&guards) {
        let next = timeout(SOON, scene.other.lock(key).acquire());
        let next = next.await.unwrap().unwrap();
        assert!(!guard.is_valid());
        assert!(next.token() > guard.token());
        next.release().await.unwrap();
    }
    scene.reconnect();
    for guard in guards {
        let reason = guard.ended().await.reason;
        assert!(matches!(reason, EndReason::Expired | EndReason::Gone));
        let released = guard.release().await;
        assert!(matches!(released, Err(Error::Lost(lost)) if lost.reason == reason));
    }
    // A new session works.
    let again = timeout(SOON, scene.locks.lock(&keys[0]).acquire());
    again.await.unwrap().unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_disconnect_shorter_than_the_session_loses_no_lock() {
    let session = SESSION * 2;
    let scene = Scene::with(session).await;
    let key = fresh("short_cut");
    let guard = scene.locks.lock(&key).acquire().await.unwrap();
    for _ in 0..3 {
        scene.proxy.cut();
        sleep(session / 12).await;
    }
    sleep(session).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
    becomes_free(&scene.other, &key, SOON).await;
}

/// The task that opened the session was not polled between the session's beginning and its end.
#[tokio::test]
async fn a_session_that_ended_before_it_was_watched_is_replaced() {
    let scene = Scene::new().await;
    let folder = fresh("unwatched");
    let url = format!("zookeeper://127.0.0.1:{}/{folder}", scene.proxy.port());
    let mut backend = pin!(ZooKeeper::builder().session_timeout(SESSION).connect(&url));
    assert!(poll!(&mut backend).is_pending());
    let address = alone().await.address();
    let admin = zookeeper_client::Client::connect(&address).await.unwrap();
    let path = format!("/{folder}");
    while admin.check_stat(&path).await.unwrap().is_none() {
        sleep(Duration::from_millis(5)).await;
    }
    sleep(SESSION / 10).await;
    scene.cut_off();
    sleep(SESSION * 2).await;
    scene.reconnect();
    let locks = LockManager::new(backend.await.unwrap());
    let guard = timeout(SOON, locks.lock("k").acquire()).await;
    assert!(guard.unwrap().unwrap().is_valid());
}

#[tokio::test]
async fn a_node_whose_creation_had_no_reply_is_found_again() {
    let scene = Scene::new().await;
    for _ in 0..3 {
        let key = fresh("create_lost");
        scene.make_container(&key).await;
        scene.proxy.set(Direction::ToClient, Traffic::Drop);
        let acquire = tokio::spawn(scene.locks.lock(&key).acquire());
        let made = async {
            while scene.other.inspect(&key).await.unwrap().holders == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, made).await.unwrap();
        scene.reconnect();
        let guard = timeout(SOON, acquire).await.unwrap().unwrap().unwrap();
        let seen = scene.other.inspect(&key).await.unwrap();
        assert_eq!((seen.holders, seen.waiting), (1, 0));
        assert_eq!(seen.token, Some(guard.token()));
        guard.release().await.unwrap();
        becomes_free(&scene.other, &key, SOON).await;
    }
}

#[tokio::test]
async fn an_acquire_dropped_while_its_reply_is_lost_leaves_no_node() {
    let scene = Scene::new().await;
    let key = fresh("dropped_and_lost");
    scene.make_container(&key).await;
    scene.proxy.set(Direction::ToClient, Traffic::Drop);
    let acquire = tokio::spawn(scene.locks.lock(&key).acquire());
    let made = async {
        while scene.other.inspect(&key).await.unwrap().holders == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, made).await.unwrap();
    acquire.abort();
    drop(acquire.await);
    scene.reconnect();
    let begun = Instant::now();
    becomes_free(&scene.other, &key, SOON).await;
    // The node was deleted, and did not only end with its session.
    let alive = scene.locks.lock(fresh("alive")).acquire().await.unwrap();
    assert!(alive.is_valid() && begun.elapsed() < SOON);
}

#[tokio::test]
async fn a_lost_delete_is_repeated_without_a_further_call() {
    let scene = Scene::new().await;
    let backend = scene.backend(LASTING).await;
    let attempt = |name| {
        let key = Key::new("lock:", &fresh(name)).unwrap();
        Attempt::new(key, Duration::from_secs(30), false)
    };
    let (lost, kept) = (attempt("delete_lost"), attempt("kept"));
    let [lost_claim, kept_claim] = [take(&backend, &lost).await, take(&backend, &kept).await];
    scene.proxy.set(Direction::ToServer, Traffic::Drop);
    let release = timeout(SESSION / 10, backend.release(&lost_claim)).await;
    assert!(release.is_err(), "{release:?}");
    scene.reconnect();
    becomes_free(&scene.other, lost.key.name(), SOON).await;
    let answer = backend.renew(&[kept_claim]).await.pop().unwrap();
    let alive = matches!(answer, Ok(RenewAnswer::Extended { .. }));
    assert!(alive, "its session was not needed for it: {answer:?}");
}

/// Requests during the outage wait for the next session, and then continue together.
#[tokio::test]
async fn attempts_dropped_without_a_session_leave_no_nodes() {
    const MANY: usize = 20;
    let scene = Scene::new().await;
    let backend = scene.backend(SESSION).await;
    let attempt = |name| {
        let key = Key::new("lock:", &fresh(name)).unwrap();
        Attempt::new(key, Duration::from_secs(60), false)
    };
    let dropped: Vec<Attempt> = (0..MANY).map(|_| attempt("no_session")).collect();
    let begun = Instant::now();
    loop {
        scene.cut_off();
        has_no_session(&backend, &attempt("refused")).await;
        for attempt in &dropped {
            let mut asked = backend.attempt(attempt);
            assert!(poll!(&mut asked).is_pending());
        }
        let mut cleanups = pin!(join_all(dropped.iter().map(|it| backend.cleanup(it))));
        assert!(poll!(&mut cleanups).is_pending());
        scene.reconnect();
        if cleanups.await.iter().all(Result::is_ok) {
            break;
        }
        assert!(begun.elapsed() < SOON, "no session came in time");
    }
    // Earlier requests of this session are complete now.
    take(&backend, &attempt("asked_last")).await;
    for attempt in &dropped {
        let seen = scene.other.inspect(attempt.key.name()).await.unwrap();
        assert!(seen.is_free(), "{seen:?}");
    }
}

/// Returns when the session has ended, and the backend has noticed it.
async fn has_no_session(backend: &ZooKeeper, attempt: &Attempt) {
    let begun = Instant::now();
    loop {
        let answer = backend.attempt(attempt).await;
        if let Err(error) = &answer
            && error
                .to_string()
                .contains("there is no session with 127.0.0.1:")
        {
            return;
        }
        assert!(begun.elapsed() < SOON, "{answer:?}");
    }
}

/// The last resort: the server refuses all deletes, and deletes the nodes of a session when it ends.
#[tokio::test]
async fn a_session_is_ended_when_its_nodes_cannot_be_deleted() {
    const SHORT: Duration = Duration::from_secs(5);
    let address = alone().await.address();
    let folder = format!("given_up-{}", leasehold::AttemptId::random());
    let url = format!("zookeeper://{address}/{folder}");
    let builder = ZooKeeper::builder().session_timeout(SHORT);
    let backend = builder.connect(&url).await.unwrap();
    let other = patient().connect(&url).await.unwrap();
    let attempt = |name| {
        let key = Key::new("lock:", name).unwrap();
        Attempt::new(key, Duration::from_secs(60), false)
    };
    let stuck = attempt("stuck");
    let stuck_claim = take(&backend, &stuck).await;
    let admin = zookeeper_client::Client::connect(&address).await.unwrap();
    let containers = admin.list_children(&format!("/{folder}")).await.unwrap();
    let [container] = &containers[..] else {
        panic!("{containers:?}");
    };
    let look_only = Acl::new(Permission::READ, AuthId::anyone());
    let container = format!("/{folder}/{container}");
    admin.set_acl(&container, &[look_only], None).await.unwrap();
    let kept = attempt("kept");
    let kept_claim = take(&backend, &kept).await;
    let refused = backend.release(&stuck_claim).await.unwrap_err();
    assert!(refused.to_string().contains("permissions"), "{refused}");

    let mut waiting = pin!(timeout(SOON * 2, other.lock("kept").acquire()));
    let (mut until, mut has_ended) = (Instant::now(), false);
    let next = loop {
        tokio::select! {
            next = &mut waiting => break next.unwrap().unwrap(),
            () = sleep(SHORT / 100) => {}
        }
        let sent = Instant::now();
        match backend.renew(from_ref(&kept_claim)).await.pop().unwrap() {
            Ok(RenewAnswer::Extended { lease }) => until = until.max(sent + lease),
            _gone => has_ended = true,
        }
    };
    let early = until.saturating_duration_since(Instant::now());
    assert!(
        early.is_zero(),
        "another has it {early:?} before its lease is over"
    );
    assert!(has_ended, "it did not go with its session");
    next.release().await.unwrap();
    becomes_free(&other, "stuck", SOON).await;
    let again = attempt("again");
    let again_claim = take(&backend, &again).await;
    backend.release(&again_claim).await.unwrap();
}

/// Drops a future after each possible number of polls, with and without an earlier waiter.
#[tokio::test]
async fn an_acquire_dropped_at_any_await_leaves_no_node_and_waiters_continue() {
    let server = alone().await;
    let (locks, other) = (
        patient().build(connect(&server.address()).await).unwrap(),
        patient().build(connect(&server.address()).await).unwrap(),
    );
    let (mut completed, mut polls) = (0, 0);
    while polls < 40 || completed == 0 {
        // On a busy machine, a reply takes many polls.
        polls += 1 + (polls / 40) * (polls / 4);
        assert!(polls < 100_000, "none was polled to its end");
        for held in [false, true] {
            let key = fresh("every_await");
            let holder = match held {
                true => Some(other.lock(&key).acquire().await.unwrap()),
                false => None,
            };
            let lock = locks.lock(&key);
            let mut acquire = Box::pin(lock.acquire());
            for _ in 0..polls {
                let polled = futures_util::poll!(&mut acquire);
                if polled.is_ready() {
                    completed += 1;
                    acquire = Box::pin(locks.lock(fresh("done")).acquire());
                    break;
                }
                sleep(Duration::from_micros(700)).await;
            }
            let behind = tokio::spawn(other.lock(&key).acquire());
            drop(acquire);
            drop(holder);
            let next = timeout(SOON, behind).await.unwrap().unwrap().unwrap();
            next.release().await.unwrap();
            becomes_free(&other, &key, SOON).await;
        }
    }
}
