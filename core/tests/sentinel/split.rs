//! Two primaries at once: one that was stopped comes back.

use std::time::Duration;

use leasehold::{AdmitError, EndReason, FenceStore, InProcessFenceStore};
use leasehold_testkit::servers::SentinelRedis;

use crate::servers::{at_primary, locks, plain, soon};

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn an_old_primary_that_returns_has_nobody_write_out_of_order() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = InProcessFenceStore::new();
    let locks = locks(&redis).await;
    // A client that reaches the old primary and no Sentinel.
    let cut_off = at_primary(redis.servers(), plain()).await;
    redis.servers().hold();
    let first = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let elsewhere = cut_off.lock("other").ttl(TTL).acquire().await.unwrap();
    let old = redis.servers().primary().pid();
    redis.servers().primary().pause().unwrap();
    redis.until_failed_over().await.unwrap();

    // Nobody has told the first holder yet but the Sentinels.
    let lost = soon(first.ended()).await;
    assert_eq!(lost.reason, EndReason::Gone);
    let second = soon(locks.lock("k").ttl(TTL).acquire()).await.unwrap();
    let lost_token = lost.token.unwrap();
    assert!(second.token() > lost_token);
    fences.admit("k", second.token()).await.unwrap();

    let returned = redis.servers().replica();
    assert_eq!(returned.pid(), old);
    returned.resume().unwrap();
    // It takes itself for a primary until the Sentinels come to it, and has the first holder's lock.
    let late = fences.admit("k", lost_token).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
    // Those who ask the Sentinels, new or not, are not led back.
    let newcomer = crate::servers::locks(&redis).await;
    assert_eq!(
        newcomer.lock("k").try_acquire().await.unwrap().map(drop),
        None
    );
    assert!(second.is_valid());
    second.renew().await.unwrap();
    fences.admit("k", second.token()).await.unwrap();
    // What the client who is cut off held is on no other server, and its token is older than any drawn since.
    let next = soon(newcomer.lock("other").ttl(TTL).acquire())
        .await
        .unwrap();
    assert!(next.token() > elsewhere.token());
    fences.admit("other", next.token()).await.unwrap();
    let late = fences.admit("other", elsewhere.token()).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
}
