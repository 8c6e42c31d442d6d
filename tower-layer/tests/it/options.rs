//! `LockOptions` of the layers.

use std::time::Duration;

use leasehold::{LockManager, LockOptions};
use leasehold_tower::LockLayer;
use leasehold_tower::service::LockedService;
use tokio::time::{Instant, sleep};
use tower::{ServiceExt, service_fn};

use crate::tools::{behind, done, orders, post, status};

const TTL: Duration = Duration::from_secs(7);

fn options() -> LockOptions {
    LockOptions::new().ttl(TTL).wait(Duration::from_secs(3))
}

#[tokio::test(start_paused = true)]
async fn a_lock_layer_takes_the_options_and_later_ones_replace_them() {
    let locks = LockManager::in_process();
    let watcher = locks.clone();
    let layer = LockLayer::new(locks.clone(), orders()).options(&options());
    let handler = move |_| {
        let locks = watcher.clone();
        async move {
            let seen = locks.inspect("order:7").await.unwrap();
            assert_eq!(seen.expires_in, Some(TTL));
            done()
        }
    };
    assert_eq!(
        status(&behind(layer.clone(), handler), post("/orders/7")).await,
        200
    );

    let _held = locks.lock("order:7").acquire().await.unwrap();
    let waiting = behind(layer.clone(), async |_| done());
    let hasty = behind(layer.wait(Duration::from_secs(1)), async |_| done());
    for (service, wait) in [(waiting, 3), (hasty, 1)] {
        let started = Instant::now();
        assert_eq!(status(&service, post("/orders/7")).await, 409);
        assert_eq!(started.elapsed(), Duration::from_secs(wait));
    }
}

#[tokio::test(start_paused = true)]
async fn the_longest_hold_time_of_the_options_ends_a_handler() {
    let locks = LockManager::in_process();
    let limited = LockOptions::new().max_hold(Duration::from_secs(2));
    let layer = LockLayer::new(locks, orders()).options(&limited);
    let endless = behind(layer, async |_| {
        sleep(Duration::from_secs(3600)).await;
        done()
    });
    let started = Instant::now();
    assert_eq!(status(&endless, post("/orders/7")).await, 503);
    assert_eq!(started.elapsed(), Duration::from_secs(2));
}

#[tokio::test(start_paused = true)]
async fn a_service_takes_the_options() {
    let locks = LockManager::in_process();
    let _held = locks.lock("order:7").acquire().await.unwrap();
    let echo = service_fn(async |order: u64| Ok::<_, std::convert::Infallible>(order));
    let by_order = |order: &u64| Some(format!("order:{order}"));
    let service = LockedService::new(echo, locks.clone(), by_order).options(&options());
    let started = Instant::now();
    service.oneshot(7).await.unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(3));
}
