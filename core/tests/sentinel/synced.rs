//! Locks that replicas must acknowledge.

use std::time::Duration;

use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend, Mode, RenewAnswer};
use leasehold::{AttemptId, EndReason, Error, Key};
use leasehold_testkit::proxy::{Proxy, Which};
use leasehold_testkit::resp::Value;
use leasehold_testkit::servers::{RedisServer, ReplicatedRedis};
use tokio::time::{Instant, sleep, timeout};

use crate::servers::{PATIENCE, at_primary, eventually, plain, soon, synced, whole};

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
async fn a_lock_that_no_replica_has_is_given_back_and_the_error_counts() {
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
async fn while_a_copy_may_come_what_no_replica_has_is_not_given_back() {
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
async fn without_a_replica_some_time_out_and_others_are_told_why() {
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
async fn whoever_waits_tries_until_the_replica_is_back() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    pair.hold();
    let waiting = tokio::spawn(locks.lock("k").wait(Duration::from_secs(15)).acquire());
    sleep(WITHIN * 5).await;
    assert!(!waiting.is_finished());
    pair.release();
    assert!(soon(waiting).await.unwrap().unwrap().is_valid());
}

#[tokio::test]
async fn a_lease_whose_renewals_no_replica_has_ends_by_its_deadline() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    let ttl = Duration::from_secs(2);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    pair.hold();
    let begin = Instant::now();
    let renewed = guard.renew().await.unwrap_err();
    assert!(whole(&renewed).contains("0 of 1 replicas"), "{renewed}");
    let lost = soon(guard.ended()).await;
    assert_eq!(lost.reason, EndReason::Expired);
    assert!(
        begin.elapsed() < ttl + Duration::from_millis(500),
        "{:?}",
        begin.elapsed()
    );
    // The primary renewed the lock all the time, and released it at the end.
    eventually("the lock is freed", async || {
        holder_of(pair.primary(), "lock:k").await == Value::Nil
    })
    .await;
}

#[tokio::test]
async fn a_lease_whose_renewals_come_through_goes_on() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    let ttl = Duration::from_millis(1500);
    let guard = locks.lock("k").ttl(ttl).acquire().await.unwrap();
    sleep(ttl * 2).await;
    assert!(guard.is_valid());
    guard.release().await.unwrap();
}

#[tokio::test]
async fn whoever_waits_for_replicas_holds_nobody_up() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let within = Duration::from_secs(1);
    let locks = at_primary(&pair, synced(within)).await;
    pair.hold();
    let slow: Vec<_> = ["a", "b", "c"]
        .map(|key| tokio::spawn(locks.lock(key).try_acquire()))
        .into();
    let begin = Instant::now();
    let others = at_primary(&pair, plain()).await;
    eventually("all three wait for the replica", async || {
        let mut held = 0;
        for key in ["a", "b", "c"] {
            held += usize::from(!others.inspect(key).await.unwrap().is_free());
        }
        held == 3
    })
    .await;
    // This request uses the connection on which those three requests were sent.
    locks.inspect("d").await.unwrap();
    assert!(begin.elapsed() < within, "{:?}", begin.elapsed());
    for slow in slow {
        assert!(slow.await.unwrap().is_err());
    }
    assert!(begin.elapsed() < within * 2, "{:?}", begin.elapsed());
}

#[tokio::test]
async fn what_a_lock_becomes_is_acknowledged_too() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let locks = at_primary(&pair, synced(WITHIN)).await;
    let guard = locks.lock("k").acquire().await.unwrap();
    pair.hold();
    let ticket = guard.hand_over().await;
    assert!(ticket.is_err(), "no replica has its renewal");
    pair.release();
    let given = locks.lock("given").acquire().await.unwrap();
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
    let writer = locks.lock("shared").acquire().await.unwrap();
    let reader = writer.downgrade().await.unwrap();
    reader.release().await.unwrap();
    let writer = locks.lock("other").acquire().await.unwrap();
    pair.hold();
    let reader = writer.downgrade().await;
    assert!(reader.is_err(), "no replica knows that it is shared");
}

#[tokio::test]
async fn of_leases_renewed_together_each_needs_the_replica_and_one_that_is_gone_does_not() {
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
