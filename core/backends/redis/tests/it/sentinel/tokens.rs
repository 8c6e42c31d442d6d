//! Tokens after failovers that lose their counters.

use std::time::Duration;

use leasehold::FencingToken;
use leasehold_testkit::depth;
use leasehold_testkit::servers::ReplicatedRedis;

use crate::sentinel::servers::{at_primary, plain, replicated};

/// The number of failovers in `cargo test`.
const FAILOVERS: u64 = 8;
const LOST_EACH_TIME: usize = 3;

#[tokio::test]
async fn tokens_increase_over_failovers_that_lose_the_counter() {
    let pair = ReplicatedRedis::start().await.unwrap();
    let mut newest: Option<FencingToken> = None;
    for failover in 0..depth::scaled(FAILOVERS) {
        let locks = at_primary(&pair, plain()).await;
        for drawn in 0..=LOST_EACH_TIME {
            let lock = locks.lock("k").ttl(Duration::from_secs(5));
            let guard = lock.acquire().await.unwrap();
            let token = guard.token();
            assert!(newest < Some(token), "{failover}: {newest:?}, then {token}");
            newest = Some(token);
            guard.release().await.unwrap();
            if drawn == 0 {
                replicated(&pair).await;
                pair.hold();
            }
        }
        pair.primary().kill();
        pair.promote().await.unwrap();
        let locks = at_primary(&pair, plain()).await;
        let known = locks.inspect("k").await.unwrap();
        assert!(known.is_free());
        pair.rejoin().await.unwrap();
    }
}
