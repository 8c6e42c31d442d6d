//! The builder's setting for how long the server keeps the last token of a key.

use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::redis::Redis;
use leasehold::{ConnectError, Error, InvalidOption, LockManager};
use redis::AsyncCommands;

use crate::single::server::{Server, waiters};

const TEN_MINUTES: Duration = Duration::from_secs(600);

async fn locks(server: &Server) -> LockManager {
    let redis = Redis::builder().fence_ttl(TEN_MINUTES);
    LockManager::new(redis.connect(&server.url()).await.unwrap())
}

fn fence(key: &str) -> String {
    format!("{{lock:{key}}}:lh1:fence")
}

/// Returns the milliseconds until the server deletes the last token of `key`.
async fn left(server: &Server, key: &str) -> i64 {
    server.raw().await.pttl(fence(key)).await.unwrap()
}

async fn is_kept_for_ten_minutes(server: &Server, key: &str) {
    let left = left(server, key).await;
    assert!((590_000..=600_000).contains(&left), "{key}: {left} ms");
}

async fn cut_short(server: &Server, key: &str) {
    let mut raw = server.raw().await;
    let () = raw.pexpire(fence(key), 60_000).await.unwrap();
}

#[tokio::test]
async fn every_request_keeps_the_last_token_for_the_fence_ttl() {
    let server = Server::start().await;
    let (here, there) = (locks(&server).await, locks(&server).await);
    let guard = here.lock("k").acquire().await.unwrap();
    is_kept_for_ten_minutes(&server, "k").await;
    cut_short(&server, "k").await;
    guard.renew().await.unwrap();
    is_kept_for_ten_minutes(&server, "k").await;

    let others = tokio::spawn(there.lock("k").acquire());
    waiters(&here, 1).await;
    cut_short(&server, "k").await;
    guard.release().await.unwrap();
    let guard = others.await.unwrap().unwrap();
    is_kept_for_ten_minutes(&server, "k").await;

    let own = tokio::spawn(there.lock("k").acquire());
    waiters(&here, 1).await;
    cut_short(&server, "k").await;
    guard.release().await.unwrap();
    let guard = own.await.unwrap().unwrap();
    is_kept_for_ten_minutes(&server, "k").await;

    cut_short(&server, "k").await;
    let _ticket = guard.hand_over().await.unwrap();
    is_kept_for_ten_minutes(&server, "k").await;
}

#[tokio::test]
async fn batches_and_readers_keep_the_last_token_for_the_fence_ttl() {
    let server = Server::start().await;
    let locks = locks(&server).await;
    let keys: Vec<_> = (0..40).map(|n| format!("batch:{n}")).collect();
    let guards = join_all(keys.iter().map(|key| locks.lock(key).acquire())).await;
    for (key, guard) in keys.iter().zip(guards) {
        is_kept_for_ten_minutes(&server, key).await;
        guard.unwrap().release().await.unwrap();
    }
    let reader = locks.rw_lock("shared").read().acquire().await.unwrap();
    is_kept_for_ten_minutes(&server, "shared").await;
    cut_short(&server, "shared").await;
    reader.renew().await.unwrap();
    is_kept_for_ten_minutes(&server, "shared").await;
}

/// Redis does not extend the TTL of the record at each acquire, but at the latest after 0.6 % of the TTL.
#[tokio::test]
async fn a_key_in_use_keeps_its_last_token() {
    let server = Server::start().await;
    let locks = locks(&server).await;
    let guard = locks.lock("k").acquire().await.unwrap();
    let token = guard.token().get();
    guard.release().await.unwrap();
    let mut raw = server.raw().await;
    let old = format!("{} someone", token - 4_000_000);
    let () = raw.pset_ex(fence("k"), old, 60_000).await.unwrap();
    let guard = locks.lock("k").acquire().await.unwrap();
    is_kept_for_ten_minutes(&server, "k").await;
    guard.release().await.unwrap();
}

/// Permits do not have fencing tokens, so their data need not outlive their holders.
#[tokio::test]
async fn the_data_of_a_semaphore_expires_a_minute_after_its_last_lease() {
    let server = Server::start().await;
    let locks = server.locks().await;
    let ttl = Duration::from_secs(10);
    let limit = 71_000;
    let long = locks.semaphore("s", 2).ttl(ttl).acquire().await.unwrap();
    assert!(left(&server, "s").await <= limit);
    let short = locks.semaphore("s", 2).ttl(ttl / 2);
    let short = short.acquire().await.unwrap();
    assert!(long.permit_id() < short.permit_id());
    let lasts = left(&server, "s").await;
    assert!((60_000..=limit).contains(&lasts), "longest lease: {lasts}");
    long.renew().await.unwrap();
    assert!(left(&server, "s").await <= limit);
    long.release().await.unwrap();
    short.release().await.unwrap();
    assert!(left(&server, "s").await <= limit);
}

#[tokio::test]
async fn a_fence_ttl_below_the_minimum_is_refused_with_the_minimum() {
    let server = Server::start().await;
    let least = Duration::from_secs(600);
    let value = least - Duration::from_millis(1);
    let url = server.url();
    let refused = Redis::builder().fence_ttl(value).connect(&url).await;
    match refused.unwrap_err() {
        Error::Connect(ConnectError::Option { source, .. }) => assert_eq!(
            source,
            InvalidOption::TooShort {
                option: "fence_ttl",
                value,
                least
            }
        ),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_ttl_longer_than_half_of_the_fence_ttl_is_refused() {
    let server = Server::start().await;
    let locks = locks(&server).await;
    let half = TEN_MINUTES / 2;
    let value = half + Duration::from_millis(1);
    let refused = locks.lock("k").ttl(value).acquire().await.unwrap_err();
    let expected = InvalidOption::TooLong {
        option: "ttl",
        value,
        most: half,
    };
    assert!(
        matches!(&refused, Error::Option(option) if *option == expected),
        "{refused:?}"
    );
    let fits = locks.lock("k").ttl(half).acquire().await.unwrap();
    fits.release().await.unwrap();
}

#[tokio::test]
async fn a_fence_ttl_above_the_maximum_is_refused_with_the_maximum() {
    let server = Server::start().await;
    let most = Duration::from_secs(60 * 60 * 24 * 365);
    let url = server.url();
    for value in [most + Duration::from_millis(1), Duration::MAX] {
        let refused = Redis::builder().fence_ttl(value).connect(&url).await;
        match refused.unwrap_err() {
            Error::Connect(ConnectError::Option { source, .. }) => assert_eq!(
                source,
                InvalidOption::TooLong {
                    option: "fence_ttl",
                    value,
                    most
                }
            ),
            other => panic!("{other:?}"),
        }
    }
    let longest = Redis::builder().fence_ttl(most).connect(&url).await;
    let locks = LockManager::new(longest.unwrap());
    let guard = locks.lock("k").acquire().await.unwrap();
    assert!(left(&server, "k").await > 31_000_000_000);
    guard.release().await.unwrap();
}
