//! Locks that replicas must acknowledge.

use std::time::Duration;

use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, Mode, RenewAnswer};
use leasehold::{AttemptId, EndReason, Error, Key};
use leasehold_testkit::proxy::{Proxy, Which};
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::{RedisServer, ReplicatedRedis};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::sentinel::servers::{PATIENCE, at_primary, eventually, plain, soon, synced, whole};

const WITHIN: Duration = Duration::from_millis(100);

async fn holder_of(server: &RedisServer, key: &str) -> Value {
    let mut client = server.client().await.unwrap();
    client.command(["GET", key]).await.unwrap()
}

#[tokio::test]
async fn a_granted_lock_is_on_the_replica() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(Duration::from_secs(1))).await;
    for turn in 0..20 {
        let key = format!("k{turn}");
        let guard = locks.lock(&key).acquire().await.unwrap();
        let there = holder_of(pair.replica(), &format!("lock:{key}")).await;
        let seen = locks.inspect(&key).await.unwrap();
        assert!(seen.owner.is_some() && there.text().is_some());
        guard.release().await.unwrap();
    }
    // All waits for the replica use one connection.
    let mut primary = pair.primary().client().await.unwrap();
    let info = primary.command(["INFO", "stats"]).await.unwrap();
    let connections = info.text().unwrap().lines().find_map(|line| {
        let count = line.strip_prefix("total_connections_received:")?;
        count.parse::<u64>().ok()
    });
    assert!(connections.unwrap() < 15, "{connections:?} connections");
}

#[tokio::test]
async fn an_unacknowledged_lock_is_released_and_the_error_counts_replicas() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    pair.hold();
    let refused = locks.lock("k").try_acquire().await.unwrap_err();
    let said = whole(&refused);
    let counted = "0 of 1 replicas acknowledged the lock within 100ms; it was released";
    assert!(said.contains(counted), "{said}");
    let Error::Backend { applied, .. } = refused else {
        panic!("{refused:?}");
    };
    // The first request was granted before it was undone, so the manager may report `Unknown`.
    assert!(matches!(applied, Applied::No | Applied::Unknown));
    assert_eq!(holder_of(pair.primary(), "lock:k").await, Value::Nil);
    pair.release();
    let guard = soon(locks.lock("k").acquire()).await.unwrap();
    assert!(guard.is_valid());
}

#[tokio::test]
async fn an_unacknowledged_lock_is_kept_while_a_duplicate_may_arrive() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let proxy = Proxy::start(pair.primary().port()).await.unwrap();
    let url = pair.primary().url_at(proxy.port());
    let redis = synced(WITHIN).connect(&url).await.unwrap();
    let attempt = Attempt::new(Key::new("lock:", "k").unwrap(), PATIENCE, false);
    proxy.lose_replies(Which::mentioning("lock:k").times(1));
    let first = timeout(WITHIN, redis.attempt(&attempt)).await;
    assert!(first.is_err(), "{first:?}");
    proxy.cut();
    pair.hold();
    let mut refused = None;
    // Repeat the request, because the client must reconnect first.
    eventually("it is asked again", async || {
        refused = redis.attempt(&attempt).await.err();
        let text = refused.as_ref().map(|it| whole(it));
        text.is_some_and(|it| it.contains("0 of 1 replicas"))
    })
    .await;
    let refused = refused.unwrap();
    assert_eq!(refused.applied(), Applied::Unknown, "{refused}");
    assert!(!whole(&refused).contains("it was released"), "{refused}");
    let holder = holder_of(pair.primary(), "lock:k").await;
    assert_ne!(holder, Value::Nil);
}

#[tokio::test]
async fn without_a_replica_acquires_time_out_or_return_the_reason() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    pair.hold();
    let lock = || locks.lock("k").wait(Duration::from_secs(1)).acquire();
    let all: Vec<_> = (0..8).map(|_| tokio::spawn(lock())).collect();
    let (mut timed_out, mut told) = (0, 0);
    for one in all {
        match soon(one).await.unwrap().unwrap_err() {
            Error::TimedOut { .. } => timed_out += 1,
            error => told += usize::from(whole(&error).contains("0 of 1 replicas")),
        }
    }
    assert_eq!((timed_out + told, timed_out > 0), (8, true), "{told} told");
    // An acquire without a wait finds no replica.
    let refused = locks.lock("other").try_acquire().await.unwrap_err();
    assert!(whole(&refused).contains("0 of 1 replicas"), "{refused}");
}

#[tokio::test]
async fn a_waiting_acquire_retries_until_the_replica_is_back() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    pair.hold();
    let waiting = tokio::spawn(locks.lock("k").wait(PATIENCE).acquire());
    sleep(WITHIN * 5).await;
    assert!(!waiting.is_finished());
    pair.release();
    assert!(soon(waiting).await.unwrap().unwrap().is_valid());
}

#[tokio::test]
async fn a_lease_with_unacknowledged_renewals_ends_by_its_deadline() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    let ttl = Duration::from_secs(6);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    pair.hold();
    // No later renewal is acknowledged.
    let (deadline, ended) = (Instant::now() + ttl, guard.ended());
    let renewed = guard.renew().await.unwrap_err();
    assert!(whole(&renewed).contains("0 of 1 replicas"), "{renewed}");
    sleep_until(deadline).await;
    // This holds however late this task runs.
    assert!(!guard.is_valid());
    let lost = soon(ended).await;
    assert_eq!(lost.reason, EndReason::Expired);
    // The primary renewed the lock all the time, and released it at the end.
    eventually("the lock is freed", async || {
        holder_of(pair.primary(), "lock:k").await == Value::Nil
    })
    .await;
}

#[tokio::test]
async fn a_lease_with_acknowledged_renewals_does_not_expire() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(Duration::from_secs(1))).await;
    let ttl = Duration::from_secs(6);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    sleep(ttl + ttl / 3).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn a_wait_for_replicas_does_not_delay_other_requests() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let within = Duration::from_secs(1);
    let locks = at_primary(&pair, synced(within)).await;
    let others = at_primary(&pair, plain()).await;
    pair.hold();
    // A busy machine may be late in some rounds. If a wait delayed others, it would do so in each round.
    let mut late = Vec::new();
    for round in 0..10 {
        let keys = ["a", "b", "c"].map(|key| format!("{key}{round}"));
        let slow = keys
            .each_ref()
            .map(|key| tokio::spawn(locks.lock(key).try_acquire()));
        let begin = Instant::now();
        let mut held = 0;
        while held < keys.len() && begin.elapsed() < within {
            held = 0;
            for key in &keys {
                held += usize::from(!others.inspect(key).await.unwrap().is_free());
            }
        }
        // This request uses the connection on which those three requests were sent.
        locks.inspect("d").await.unwrap();
        let answered = begin.elapsed();
        for slow in slow {
            assert!(slow.await.unwrap().is_err());
        }
        let all = begin.elapsed();
        if held == keys.len() && answered < within && all < within * 2 {
            return;
        }
        late.push((held, answered, all));
    }
    panic!("late in each round: {late:?}");
}

#[tokio::test]
async fn handovers_accepts_and_downgrades_must_be_acknowledged() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    // For what the replica acknowledges, on a busy machine.
    let patient = at_primary(&pair, synced(Duration::from_secs(5))).await;
    let guard = locks.lock("k").acquire().await.unwrap();
    pair.hold();
    let ticket = guard.hand_over().await;
    assert!(ticket.is_err(), "no replica has its renewal");
    pair.release();
    let given = patient.lock("given").acquire().await.unwrap();
    let ticket = given.hand_over().await.unwrap();
    pair.hold();
    let taken = locks.accept(&ticket).await.unwrap_err();
    let said = whole(&taken);
    assert!(said.contains("0 of 1 replicas"), "{said}");
    eventually("what was not taken up is freed", async || {
        holder_of(pair.primary(), "lock:given").await == Value::Nil
    })
    .await;
    pair.release();
    let writer = patient.lock("shared").acquire().await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    reader.release().await.unwrap();
    let writer = locks.lock("other").acquire().await.unwrap();
    pair.hold();
    let reader = writer.downgrade().await;
    assert!(reader.is_err(), "no replica knows that it is shared");
}

#[tokio::test]
async fn each_lease_renewed_in_a_batch_needs_an_acknowledgement() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let url = pair.primary().url();
    // A busy machine may need longer than the timeout of `hasty`.
    let patient = synced(Duration::from_secs(5)).connect(&url).await.unwrap();
    let hasty = synced(WITHIN).connect(&url).await.unwrap();
    let mut claims = Vec::new();
    for mode in [Mode::Exclusive, Mode::Exclusive, Mode::Shared] {
        let key = Key::new("lock:", &format!("k{}", claims.len())).unwrap();
        let attempt = Attempt::new(key, Duration::from_secs(30), false).in_mode(mode);
        let granted = patient.attempt(&attempt).await.unwrap();
        let AttemptAnswer::Granted { token, .. } = granted else {
            panic!("{granted:?}");
        };
        claims.push(attempt.claim(token));
    }
    let mut gone = claims[0].clone();
    gone.owner = AttemptId::random();
    claims.insert(1, gone);
    for held in [false, true] {
        let mut backend = &patient;
        if held {
            pair.hold();
            backend = &hasty;
        }
        let answers = soon(backend.renew(&claims)).await;
        assert_eq!(answers.len(), claims.len());
        for (place, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(RenewAnswer::Gone) => assert_eq!(place, 1),
                Ok(_extended) => assert!(!held && place != 1, "{place}"),
                Err(error) => {
                    assert!(held && place != 1, "{place}: {error}");
                    assert_eq!(error.applied(), Applied::Unknown);
                    assert!(whole(&error).contains("0 of 1 replicas"), "{error}");
                }
            }
        }
    }
}
