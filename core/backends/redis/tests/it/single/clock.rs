//! A server whose clock jumps. The lock then has two holders, and the fence refuses the older one.

use std::time::Duration;

use leasehold::{AdmitError, EndReason, Error, FenceStore, InProcessFenceStore, LockGuard, Stale};
use leasehold_testkit::clock::ClockShim;

use crate::single::server::Server;

const TTL: Duration = Duration::from_secs(30);

/// Two holders of one lock. After the first acquire, the clock of the server was set forward by more than the TTL.
struct Two {
    first: LockGuard,
    second: LockGuard,
    _server: Server,
    _clock: ClockShim,
}

impl Two {
    async fn get() -> Self {
        let clock = ClockShim::off_by(0).unwrap();
        let server = Server::with(|server| server.wearing(&clock)).await;
        let first = server.locks().await.lock("k").ttl(TTL).without_renewal();
        let first = first.acquire().await.unwrap();
        let others = server.locks().await;
        assert!(others.lock("k").try_acquire().await.unwrap().is_none());
        clock.set(31).unwrap();
        let second = server.locks().await.lock("k").try_acquire().await;
        Self {
            first,
            second: second.unwrap().unwrap(),
            _server: server,
            _clock: clock,
        }
    }
}

#[tokio::test]
async fn a_forward_clock_jump_permits_two_holders_and_the_fence_refuses_the_older() {
    let two = Two::get().await;
    let (first, second) = (&two.first, &two.second);
    assert!(first.is_valid(), "the hole would have been closed");
    assert!(second.token() > first.token());
    let store = InProcessFenceStore::new();
    store.admit("row", second.token()).await.unwrap();
    let refused = store.admit("row", first.token()).await;
    let Err(AdmitError::Stale(Stale { token, current, .. })) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!((token, current), (first.token(), second.token()));
}

#[tokio::test]
async fn a_lock_ended_by_the_servers_clock_is_lost_at_its_next_renewal() {
    let two = Two::get().await;
    let Err(Error::Lost(lost)) = two.first.renew().await else {
        panic!("it holds what another holds");
    };
    assert_eq!(lost.reason, EndReason::Gone);
}
