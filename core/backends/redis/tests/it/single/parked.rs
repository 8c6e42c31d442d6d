//! Waiters in the process of the holder, which are not in the queue at the server yet.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::poll;
use leasehold::backend::redis::Redis;
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, Claim};
use leasehold::{AttemptId, Key, LockManager};
use leasehold_testkit::proxy::{Proxy, Which};
use tokio::time::{sleep, timeout};

use crate::single::server::{Server, waiters};

const SOON: Duration = Duration::from_secs(5);

/// Waiters are parked only if the holder has held the lock for less than this time. A slower round is repeated.
const SWIFT: Duration = Duration::from_millis(10);

/// Returns the result of the first round that was fast enough.
async fn swiftly<T>(round: impl AsyncFn() -> (Duration, T)) -> T {
    for _ in 0..1_000 {
        let (took, outcome) = round().await;
        if took < SWIFT {
            return outcome;
        }
    }
    panic!("no round was swift");
}

/// Returns a server, a proxy in front of it, and a backend that uses the proxy.
async fn disturbed() -> (Server, Proxy, Redis) {
    let server = Server::start().await;
    let proxy = Proxy::start(server.inner().port()).await.unwrap();
    let url = server.inner().url_at(proxy.port());
    let backend = Redis::connect(&url).await.unwrap();
    (server, proxy, backend)
}

#[tokio::test]
async fn a_release_also_acquires_for_the_next_parked_waiter() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let passes = async || {
        let before = server.scripts().await;
        let mut begun = Instant::now();
        let mut held = locks.lock("k").acquire().await.unwrap();
        let mut slowest = Duration::ZERO;
        for _ in 0..3 {
            let mut next = pin!(locks.lock("k").acquire());
            assert!(poll!(&mut next).is_pending());
            let earlier = held.token();
            held.release().await.unwrap();
            slowest = slowest.max(begun.elapsed());
            begun = Instant::now();
            held = next.await.unwrap();
            assert!(held.token() > earlier);
        }
        // A lease that was handed off is renewed soon.
        held.release().await.unwrap();
        slowest = slowest.max(begun.elapsed());
        (slowest, server.scripts().await - before)
    };
    assert_eq!(swiftly(passes).await, 1 + 3 + 1, "an acquire and releases");
}

#[tokio::test]
async fn a_handed_off_lock_is_held_like_any_other() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let held = locks.lock("k").acquire().await.unwrap();
    let mut next = pin!(locks.lock("k").acquire());
    assert!(poll!(&mut next).is_pending());
    held.release().await.unwrap();
    let held = next.await.unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!((seen.token, seen.waiting), (Some(held.token()), 0));
    assert!(held.is_valid());
    held.release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
}

/// Returns whether an acquire, made right after another acquire of its process succeeded, is queued immediately.
async fn is_in_line(server: &Server, wait: Duration, command_timeout: Duration) -> bool {
    let backend = Redis::connect(&server.inner().url()).await.unwrap();
    let manager = LockManager::builder().command_timeout(command_timeout);
    let locks = manager.build(backend).unwrap();
    let round = async || {
        // Each round uses its own key, so that a slow round does not affect the next one.
        let key = AttemptId::random().to_string();
        let begun = Instant::now();
        let Ok(held) = locks.lock(&key).acquire().await else {
            return (Duration::MAX, false);
        };
        let mut next = pin!(locks.lock(&key).wait(wait).acquire());
        assert!(poll!(&mut next).is_pending());
        let Ok(seen) = locks.inspect(&key).await else {
            return (Duration::MAX, false);
        };
        let took = begun.elapsed();
        held.release().await.ok();
        if let Ok(next) = next.await {
            next.release().await.ok();
        }
        (took, seen.waiting == 1)
    };
    swiftly(round).await
}

#[tokio::test]
async fn a_waiter_with_a_short_wait_or_command_timeout_queues_immediately() {
    let server = Server::start().await;
    let [long, short] = [2_000, 99].map(Duration::from_millis);
    assert!(!is_in_line(&server, long, long).await);
    assert!(is_in_line(&server, short, long).await);
    assert!(is_in_line(&server, long, short).await);
}

#[tokio::test]
async fn parked_waiters_are_served_in_arrival_order() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let held = locks.lock("k").acquire().await.unwrap();
    let acquire = || locks.lock("k").acquire();
    let (mut one, mut two) = (pin!(acquire()), pin!(acquire()));
    assert!(poll!(&mut one).is_pending() && poll!(&mut two).is_pending());
    held.release().await.unwrap();
    let one = one.await.unwrap();
    assert!(poll!(&mut two).is_pending());
    one.release().await.unwrap();
    two.await.unwrap().release().await.unwrap();
}

#[tokio::test]
async fn a_queued_waiter_of_another_process_is_served_before_a_parked_one() {
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    let held = here.lock("k").acquire().await.unwrap();
    let other = there.lock("k");
    let other = tokio::spawn(async move { other.acquire().await });
    waiters(&here, 1).await;
    let lock = here.lock("k");
    let mut next = pin!(lock.acquire());
    assert!(poll!(&mut next).is_pending());
    held.release().await.unwrap();
    let other = timeout(SOON, other).await.unwrap().unwrap().unwrap();
    assert!(poll!(&mut next).is_pending());
    let seen = here.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(other.token()));
    other.release().await.unwrap();
    let next = timeout(SOON, next).await.unwrap().unwrap();
    next.release().await.unwrap();
    assert!(here.inspect("k").await.unwrap().is_free());
}

/// Parked waiters are queued in their order, as soon as another process has a waiter in the queue.
#[tokio::test]
async fn parked_waiters_queue_in_arrival_order_if_there_is_no_hand_off() {
    const MANY: usize = 6;
    let server = Server::start().await;
    let (here, there) = (server.locks().await, server.locks().await);
    let round = async || {
        let held = here.lock("k").acquire().await.unwrap();
        let other = there.lock("k");
        let other = tokio::spawn(async move { other.acquire().await });
        waiters(&here, 1).await;
        held.release().await.unwrap();
        let other = other.await.unwrap().unwrap();
        // A new acquire of this process, for which the parked waiters wait.
        let lock = here.lock("k");
        let again = tokio::spawn(async move { lock.acquire().await });
        waiters(&here, 1).await;
        let third = there.lock("k");
        let third = tokio::spawn(async move { third.acquire().await });
        waiters(&here, 2).await;
        let begun = Instant::now();
        other.release().await.unwrap();
        let held = again.await.unwrap().unwrap();
        let served = Arc::<Mutex<Vec<usize>>>::default();
        let all: Vec<_> = (0..MANY)
            .map(|number| {
                let (lock, served) = (here.lock("k"), Arc::clone(&served));
                tokio::spawn(async move {
                    let guard = lock.acquire().await.unwrap();
                    served.lock().unwrap().push(number);
                    guard.release().await.unwrap();
                })
            })
            .collect();
        tokio::task::yield_now().await;
        held.release().await.unwrap();
        let took = begun.elapsed();
        let third = third.await.unwrap().unwrap();
        waiters(&here, MANY).await;
        third.release().await.unwrap();
        for one in all {
            one.await.unwrap();
        }
        let served = served.lock().unwrap().clone();
        (took, served)
    };
    let served = swiftly(round).await;
    assert_eq!(served, (0..MANY).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_dropped_parked_waiter_is_skipped() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let held = locks.lock("k").acquire().await.unwrap();
    let acquire = || locks.lock("k").acquire();
    let (mut gone, mut next) = (Box::pin(acquire()), pin!(acquire()));
    assert!(poll!(&mut gone).is_pending() && poll!(&mut next).is_pending());
    drop(gone);
    held.release().await.unwrap();
    let next = timeout(SOON, next).await.unwrap().unwrap();
    next.release().await.unwrap();
    assert!(locks.inspect("k").await.unwrap().is_free());
}

#[tokio::test]
async fn a_waiter_dropped_during_its_hand_off_leaves_the_lock_free() {
    let (_server, proxy, backend) = disturbed().await;
    let locks = LockManager::new(backend);
    let held = locks.lock("k").acquire().await.unwrap();
    let lock = locks.lock("k");
    let mut next = Box::pin(lock.acquire());
    assert!(poll!(&mut next).is_pending());
    proxy.hold_requests(Which::named("EVALSHA").times(1));
    let released = tokio::spawn(held.release());
    let held_back = proxy.until("the release is held", |seen| seen.held >= 1);
    held_back.await.unwrap();
    drop(next);
    proxy.deliver_held().await.unwrap();
    released.await.unwrap().unwrap();
    let is_free = async {
        while !locks.inspect("k").await.unwrap().is_free() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(SOON, is_free).await.expect("it cleans up");
}

#[tokio::test]
async fn a_release_delivered_after_the_waiters_cleanup_hands_off_nothing() {
    let (server, proxy, backend) = disturbed().await;
    let attempt = || Attempt::new(Key::new("lock:", "k").unwrap(), SOON * 6, true);
    let (first, next) = (attempt(), attempt());
    let AttemptAnswer::Granted { token, .. } = backend.attempt(&first).await.unwrap() else {
        panic!("it is free");
    };
    let claim = first.claim(token);
    let mut waiting = backend.attempt(&next);
    assert!(poll!(&mut waiting).is_pending());
    proxy.hold_requests(Which::named("EVALSHA").times(1));
    let mut release = backend.release(&claim);
    assert!(poll!(&mut release).is_pending());
    let held_back = proxy.until("the release is held", |seen| seen.held >= 1);
    held_back.await.unwrap();
    drop(waiting);
    proxy.cut();
    timeout(SOON, async {
        while backend.cleanup(&next).await.is_err() {}
    })
    .await
    .unwrap();
    drop(release);
    let locks = server.locks().await;
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(token), "the release has not come");
    proxy.deliver_held().await.unwrap();
    let seen = locks.inspect("k").await.unwrap();
    assert!(seen.is_free(), "nobody knows of it: {seen:?}");
}

#[tokio::test]
async fn a_parked_waiter_whose_grant_reply_is_lost_sends_a_request() {
    let (server, proxy, backend) = disturbed().await;
    let manager = LockManager::builder().command_timeout(Duration::from_millis(200));
    let locks = manager.build(backend).unwrap();
    let held = locks.lock("k").acquire().await.unwrap();
    let mut get = redis::cmd("GET");
    let get = get.arg("lock:k");
    let owner: String = get.query_async(&mut server.raw().await).await.unwrap();
    let lock = locks.lock("k");
    let mut next = Box::pin(lock.acquire());
    assert!(poll!(&mut next).is_pending());
    proxy.lose_replies(Which::mentioning(&owner).times(1));
    let released = tokio::spawn(held.release());
    let next = timeout(SOON, next).await.expect("it asks").unwrap();
    let lost = released.await.unwrap();
    assert!(lost.is_err(), "its answer: {lost:?}");
    let seen = locks.inspect("k").await.unwrap();
    assert_eq!(seen.token, Some(next.token()));
    next.release().await.unwrap();
}

#[tokio::test]
async fn a_release_succeeds_without_memory_for_a_hand_off() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let raw = server.raw().await;
    let memory = async |bytes: u32| {
        let mut set = redis::cmd("CONFIG");
        let set = set.arg("SET").arg("maxmemory").arg(bytes);
        let () = set.query_async(&mut raw.clone()).await.unwrap();
    };
    let passes = async || {
        let begun = Instant::now();
        let held = locks.lock("k").acquire().await.unwrap();
        let mut next = pin!(locks.lock("k").acquire());
        assert!(poll!(&mut next).is_pending());
        memory(1).await;
        let before = server.scripts().await;
        held.release().await.unwrap();
        let took = begun.elapsed();
        let calls = server.scripts().await - before;
        let seen = locks.inspect("k").await.unwrap();
        memory(0).await;
        let next = timeout(SOON, next).await.unwrap().unwrap();
        next.release().await.unwrap();
        (took, (seen.holders, calls))
    };
    assert_eq!(swiftly(passes).await, (0, 1), "it is given up");
}

/// Returns the result of a release that names a parked waiter, after these commands. `~` stands for a space in a word.
async fn released_after(server: &Server, until: i64, commands: &[&str]) -> (String, String) {
    const LEAVE: &str = concat!(
        include_str!("../../../src/scripts/constants.lua"),
        include_str!("../../../src/scripts/release_fast.lua"),
        include_str!("../../../src/scripts/time.lua"),
        include_str!("../../../src/scripts/prelude.lua"),
        include_str!("../../../src/scripts/fencing_token.lua"),
        include_str!("../../../src/scripts/release_handoff.lua"),
        include_str!("../../../src/scripts/release_load.lua"),
        include_str!("../../../src/scripts/queue.lua"),
        include_str!("../../../src/scripts/release.lua"),
    );
    let mut raw = server.raw().await;
    let before = ["FLUSHALL", "SET k owner PX 60000", "SET k:fence 9"];
    for command in before.iter().chain(commands) {
        let mut words = command.split(' ').map(|word| word.replace('~', " "));
        let mut command = redis::cmd(&words.next().unwrap());
        let command = command.arg(words.collect::<Vec<_>>());
        let () = command.query_async(&mut raw).await.unwrap();
    }
    let script = redis::Script::new(LEAVE);
    let mut call = script.key("k");
    for name in ["queue", "fence", "seal", "leases", "shares", "named-seal"] {
        call.key(format!("k:{name}"));
    }
    for word in ["owner", "0", "named"] {
        call.arg(word);
    }
    let answer = call.arg(until).invoke_async(&mut raw).await.unwrap();
    let mut get = redis::cmd("GET");
    let holder: Option<String> = get.arg("k").query_async(&mut raw).await.unwrap();
    (answer, holder.unwrap_or_default())
}

#[tokio::test]
async fn a_release_hands_off_only_to_a_parked_waiter_with_a_valid_request() {
    const LATE: i64 = 1;
    const IN_TIME: i64 = i64::MAX / 4;
    let server = Server::start().await;
    let in_line = [
        "ZADD k:queue 1 named",
        "HSET k:leases named 9000000000000000~x~inbox",
    ];
    let cases: [(&str, i64, &[&str], &str, &str); 7] = [
        ("it is passed on", IN_TIME, &[], "left", "named"),
        ("it stands in line by now", IN_TIME, &in_line, "left", ""),
        ("the request is late", LATE, &[], "left", ""),
        (
            "it has cleaned up",
            IN_TIME,
            &["SET k:named-seal 1"],
            "left",
            "",
        ),
        (
            "another has the lock",
            IN_TIME,
            &["SET k other"],
            "absent",
            "other",
        ),
        ("the counter is lost", IN_TIME, &["DEL k:fence"], "left", ""),
        (
            "no number is left",
            IN_TIME,
            &["SET k:fence 9007199254740991"],
            "left",
            "",
        ),
    ];
    for (case, until, commands, answer, holder) in cases {
        let (answered, held) = released_after(&server, until, commands).await;
        let (word, token) = match answered.split_once(' ') {
            Some((word, token)) => (word, Some(token)),
            None => (&*answered, None),
        };
        assert_eq!((word, &*held), (answer, holder), "{case}");
        assert_eq!(token.is_some(), held == "named", "{case}");
    }
}

fn attempt() -> Attempt {
    let key = Key::new("lock:", "k").unwrap();
    Attempt::new(key, Duration::from_secs(30), true)
}

/// Acquires the lock, and returns the claim for its release.
async fn hold(backend: &Redis) -> Claim {
    let first = attempt();
    let answer = backend.attempt(&first).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}");
    };
    first.claim(token)
}

#[tokio::test]
async fn a_waiter_named_by_an_unanswered_release_has_an_unknown_outcome() {
    let round = async || {
        let (server, proxy, backend) = disturbed().await;
        let (begun, claim) = (Instant::now(), hold(&backend).await);
        let next = attempt();
        let mut asks = backend.attempt(&next);
        assert!(poll!(&mut asks).is_pending());
        let took = begun.elapsed();
        proxy.lose_replies(Which::named("EVALSHA").times(1));
        let mut release = backend.release(&claim);
        assert!(poll!(&mut release).is_pending());
        let lost = proxy.until("the reply is lost", |seen| seen.lost_replies == 1);
        lost.await.unwrap();
        proxy.refuse().await.unwrap();
        proxy.cut();
        release.await.unwrap_err();
        let error = asks.await.unwrap_err();
        let mut get = redis::cmd("GET");
        get.arg("lock:k");
        let holder: Option<String> = get.query_async(&mut server.raw().await).await.unwrap();
        (took, (error, holder == Some(next.owner.reveal())))
    };
    let (error, holds) = swiftly(round).await;
    assert!(holds);
    assert_eq!(error.applied(), Applied::Unknown, "{error}");
}

#[tokio::test]
async fn a_hand_off_before_its_connection_ended_is_requested_again() {
    let round = async || {
        let (server, proxy, backend) = disturbed().await;
        let (begun, claim) = (Instant::now(), hold(&backend).await);
        let next = attempt();
        let mut asks = backend.attempt(&next);
        assert!(poll!(&mut asks).is_pending());
        let took = begun.elapsed();
        backend.release(&claim).await.unwrap();
        // As after a failover, another owner holds the lock.
        let mut set = redis::cmd("SET");
        set.arg("lock:k").arg("other").arg("PX").arg(30_000);
        let mut raw = server.raw().await;
        let () = set.query_async(&mut raw).await.unwrap();
        proxy.cut();
        let interrupted = timeout(SOON, backend.interrupted(0));
        interrupted.await.unwrap();
        (took, asks.await.unwrap())
    };
    let answer = swiftly(round).await;
    assert!(matches!(answer, AttemptAnswer::Busy { .. }), "{answer:?}");
}
