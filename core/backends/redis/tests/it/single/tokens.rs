//! The tokens that are granted, with a stopped clock.

use std::time::Duration;

use futures_util::future::join_all;
use leasehold::{Error, LockManager};
use leasehold_testkit::clock::ClockShim;
use tokio::time::timeout;

use crate::single::server::{Server, waiters};

const SOON: Duration = Duration::from_secs(10);

/// The server's time in microseconds, shortly after the beginning of a second.
const NOW: i64 = 1_800_000_000_000_012;

/// From this number on, the server's scripts cannot represent every integer.
const END: i64 = 1 << 53;

/// Starts a server with a stopped clock.
async fn server() -> Server {
    let clock = ClockShim::off_by(0).unwrap();
    clock.stand_at(NOW.unsigned_abs()).unwrap();
    Server::with(|server| server.wearing(&clock)).await
}

async fn token(locks: &LockManager) -> Result<i64, Error> {
    let guard = locks.lock("k").acquire().await?;
    let token = guard.token().get();
    guard.release().await.unwrap();
    Ok(token)
}

#[tokio::test]
async fn an_inspection_contains_the_time_of_the_grant() {
    let server = server().await;
    let locks = server.locks().await;
    assert_eq!(locks.inspect("k").await.unwrap().granted_at, None);
    let _guard = locks.lock("k").acquire().await.unwrap();
    let seen = locks.inspect("k").await.unwrap().granted_at.unwrap();
    let since_1970 = seen.duration_since(std::time::UNIX_EPOCH).unwrap();
    assert_eq!(since_1970, Duration::from_micros(NOW.unsigned_abs()));
}

#[tokio::test]
async fn the_next_token_is_above_the_last_and_not_below_the_time() {
    let server = server().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    for (record, next) in [
        (String::new(), Some(NOW)),
        ("no number".to_owned(), Some(NOW)),
        ("7 owner".to_owned(), Some(NOW)),
        ("7 8000000000000000".to_owned(), Some(NOW)),
        ("999999999999999 owner".to_owned(), Some(NOW)),
        (format!("{} owner", NOW - 1), Some(NOW)),
        (format!("{NOW} owner"), Some(NOW + 1)),
        (format!("{} owner", NOW + 1), Some(NOW + 2)),
        (format!("{} owner", NOW + 500_000), Some(NOW + 500_001)),
        (format!("{} owner", END - 2), Some(END - 1)),
        (format!("{} owner", END - 1), None),
        (format!("{END} owner"), None),
        (format!("{NOW}0 owner"), None),
        ("10000000000000000 owner".to_owned(), None),
        (format!("{NOW}{NOW} owner"), None),
    ] {
        let mut set = redis::cmd("SET");
        let set = set.arg("{lock:k}:lh1:fence").arg(&record);
        let () = set.query_async(&mut raw).await.unwrap();
        let drawn = token(&locks).await;
        assert_eq!(drawn.as_ref().ok(), next.as_ref(), "{record:?}: {drawn:?}");
    }
}

#[tokio::test]
async fn tokens_of_one_microsecond_differ() {
    let server = server().await;
    let locks = server.locks().await;
    for n in 0..3 {
        assert_eq!(token(&locks).await.unwrap(), NOW + n);
    }
}

#[tokio::test]
async fn a_refused_acquire_leaves_the_token_counter_unchanged() {
    let server = server().await;
    let (locks, mut raw) = (server.locks().await, server.raw().await);
    let record = format!("{} owner", END - 1);
    let mut set = redis::cmd("SET");
    let set = set.arg("{lock:k}:lh1:fence").arg(&record);
    let () = set
        .arg("PX")
        .arg(60_000)
        .query_async(&mut raw)
        .await
        .unwrap();
    token(&locks).await.unwrap_err();
    let mut both = redis::pipe();
    both.cmd("GET").arg("{lock:k}:lh1:fence");
    both.cmd("PTTL").arg("{lock:k}:lh1:fence");
    both.cmd("EXISTS").arg("lock:k");
    let kept: (String, i64, i64) = both.query_async(&mut raw).await.unwrap();
    assert_eq!(kept, (record, 60_000, 0));
}

#[tokio::test]
async fn a_server_time_of_2_to_the_53_is_not_used_as_a_token() {
    let clock = ClockShim::off_by(0).unwrap();
    clock.stand_at(NOW.unsigned_abs()).unwrap();
    let server = Server::with(|server| server.wearing(&clock)).await;
    clock.stand_at(END.unsigned_abs()).unwrap();
    let locks = server.locks().await;
    for round in 0..2 {
        let taken = ["a", "b", "c"].map(|name| locks.lock(name).acquire());
        for taken in join_all(taken).await {
            assert!(!taken.unwrap_err().is_temporary(), "{round}");
        }
    }
    clock.stand_at((END - 1).unsigned_abs()).unwrap();
    let locks = server.locks().await;
    let last = locks.lock("a").acquire().await.unwrap();
    assert_eq!(last.token().get(), END - 1);
}

/// Returns the remaining seconds of the counters of these locks.
async fn counters_last(server: &Server, names: &[String]) -> Vec<i64> {
    let mut ttls = redis::pipe();
    for name in names {
        ttls.cmd("TTL").arg(format!("{{lock:{name}}}:lh1:fence"));
    }
    ttls.query_async(&mut server.raw().await).await.unwrap()
}

#[tokio::test]
async fn a_token_counter_in_use_has_a_ttl_of_about_two_days() {
    const STEP: u64 = 1_000_000_000;
    const TWO_DAYS: i64 = 2 * 24 * 60 * 60;
    let begin = NOW.unsigned_abs() - NOW.unsigned_abs() % STEP;
    let clock = ClockShim::off_by(0).unwrap();
    clock.stand_at(begin).unwrap();
    let server = Server::with(|server| server.wearing(&clock)).await;
    // Of several concurrent requests the first is sent alone, and the others in a batch.
    let names: Vec<_> = (0..4).map(|n| format!("k{n}")).collect();
    let mut last = TWO_DAYS;
    for (at, is_set_anew) in [(0, true), (1, false), (STEP - 1, false), (STEP, true)] {
        clock.stand_at(begin + at).unwrap();
        // A new manager has not cached an earlier time.
        let locks = server.locks().await;
        let taken = names.iter().map(|name| locks.lock(name).acquire());
        for guard in join_all(taken).await {
            guard.unwrap().release().await.unwrap();
        }
        if is_set_anew {
            last = TWO_DAYS + i64::try_from(at / 1_000_000).unwrap();
        }
        let left = last - i64::try_from(at / 1_000_000).unwrap();
        for lasts in counters_last(&server, &names).await {
            assert!(
                (left - 1..=left).contains(&lasts),
                "{at}: {lasts} of {left}"
            );
        }
    }
}

#[tokio::test]
async fn a_deleted_lock_is_granted_to_the_waiter_and_not_to_a_newcomer() {
    let server = Server::start().await;
    let (holders, others) = (server.locks().await, server.locks().await);
    let _held = holders.lock("k").acquire().await.unwrap();
    let waiting = tokio::spawn(others.lock("k").acquire());
    waiters(&holders, 1).await;
    let mut end = redis::cmd("DEL");
    let end = end.arg("lock:k");
    let () = end.query_async(&mut server.raw().await).await.unwrap();
    let newcomer = server.locks().await.lock("k").try_acquire().await;
    assert!(newcomer.unwrap().is_none());
    let next = timeout(SOON, waiting).await.unwrap().unwrap().unwrap();
    next.release().await.unwrap();
}
