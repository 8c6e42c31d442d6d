//! Two concurrent primaries: a stopped primary continues after a failover.

use std::time::Duration;

use leasehold::{AdmitError, EndReason, FenceStore, InProcessFenceStore};
use leasehold_testkit::servers::SentinelRedis;

use crate::sentinel::servers::{at_primary, locks, plain, soon};

const TTL: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_returning_old_primary_causes_no_writes_out_of_order() {
    let redis = SentinelRedis::start().await.unwrap();
    let fences = InProcessFenceStore::new();
    let locks = locks(&redis).await;
    // A client that reaches the old primary, but no Sentinel.
    let cut_off = at_primary(redis.servers(), plain()).await;
    redis.servers().hold();
    let first = locks.lock("k").ttl(TTL).acquire().await.unwrap();
    let elsewhere = cut_off.lock("other").ttl(TTL).acquire().await.unwrap();
    let old = redis.servers().primary().pid();
    redis.servers().primary().pause().unwrap();
    redis.until_failed_over().await.unwrap();

    // Only the Sentinels have reported the failover to the first holder so far.
    let lost = soon(first.ended()).await;
    assert_eq!(lost.reason, EndReason::Gone);
    let second = soon(locks.lock("k").ttl(TTL).acquire()).await.unwrap();
    let lost_token = lost.token.unwrap();
    assert!(second.token() > lost_token);
    fences.admit("k", second.token()).await.unwrap();

    let returned = redis.servers().replica();
    assert_eq!(returned.pid(), old);
    returned.resume().unwrap();
    // The old primary acts as a primary until the Sentinels demote it, and it has the first holder's lock.
    let late = fences.admit("k", lost_token).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
    // Clients that use the Sentinels never connect to the old primary.
    let newcomer = crate::sentinel::servers::locks(&redis).await;
    assert_eq!(
        newcomer.lock("k").try_acquire().await.unwrap().map(drop),
        None
    );
    assert!(second.is_valid());
    second.renew().await.unwrap();
    fences.admit("k", second.token()).await.unwrap();
    // The lock of the disconnected client exists on no other server. Its token is older than all later tokens.
    let next = soon(newcomer.lock("other").ttl(TTL).acquire())
        .await
        .unwrap();
    assert!(next.token() > elsewhere.token());
    fences.admit("other", next.token()).await.unwrap();
    let late = fences.admit("other", elsewhere.token()).await;
    assert!(matches!(late, Err(AdmitError::Stale(_))), "{late:?}");
}
