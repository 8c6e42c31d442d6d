//! `LockOptions`: one value of options for every builder.

use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::{
    EndReason, Error, LockManager, LockOptions, ReentrancyScope, blocking, distributed_lock,
};
use tokio::time::{Instant, advance, sleep};

const TTL: Duration = Duration::from_secs(7);

/// Options with a TTL that no default has, and no wait.
fn seven_seconds() -> LockOptions {
    LockOptions::new().ttl(TTL).wait(Duration::ZERO)
}

/// Returns the TTL of the lock on `k`, which was just acquired.
async fn ttl_of_k(locks: &LockManager) -> Option<Duration> {
    locks.inspect("k").await.ok()?.expires_in
}

#[tokio::test(start_paused = true)]
async fn each_builder_takes_the_options() {
    let (locks, options) = (LockManager::in_process(), seven_seconds());

    let guard = locks.lock("k").options(&options).acquire().await.unwrap();
    assert_eq!(ttl_of_k(&locks).await, Some(TTL));
    let busy = locks.lock("k").options(&options).acquire().await;
    assert!(matches!(busy, Err(Error::TimedOut { .. })), "{busy:?}");
    let ticket = guard.hand_over().await.unwrap();
    let accepted = locks
        .accept(&ticket)
        .options(&LockOptions::new().ttl(TTL * 2));
    let guard = accepted.await.unwrap();
    assert_eq!(ttl_of_k(&locks).await, Some(TTL * 2));
    guard.release().await.unwrap();

    let set = locks.lock_all(["k", "other"]).options(&options);
    let guard = set.acquire().await.unwrap();
    assert_eq!(ttl_of_k(&locks).await, Some(TTL));
    guard.release().await.unwrap();

    let scope = ReentrancyScope::new();
    let reentrant = locks.lock("k").reentrant(&scope).options(&options);
    let guard = reentrant.acquire().await.unwrap();
    assert_eq!(ttl_of_k(&locks).await, Some(TTL));
    guard.release().await.unwrap();

    let election = locks.election("k").options(&options);
    let led = election.campaign(async |_leader| Ok::<_, Error>(ttl_of_k(&locks).await));
    assert_eq!(led.await.unwrap(), Some(TTL));

    let once = locks.once("once").options(&options);
    let state = once.run(async |_lock| {
        let state = locks.inspect("once").await?;
        Ok::<_, Error>(state.expires_in)
    });
    assert_eq!(state.await.unwrap(), Some(TTL));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_waits_whatever_the_options_are() {
    let (locks, options) = (LockManager::in_process(), seven_seconds());
    let guard = locks.lock("k").acquire().await.unwrap();
    let election = locks.election("k").options(&options);
    let campaign = election.campaign(async |_leader| Ok::<_, Error>(()));
    let release = async {
        sleep(Duration::from_secs(60)).await;
        guard.release().await.unwrap();
    };
    let (led, ()) = tokio::join!(campaign, release);
    led.unwrap();
}

#[tokio::test(start_paused = true)]
async fn options_that_are_not_set_keep_the_value_of_the_builder() {
    let builder = LockManager::builder().options(&LockOptions::new().ttl(TTL).max_hold(TTL * 9));
    let locks = builder.build(InProcess::new()).unwrap();
    assert_eq!(locks.max_hold(), Some(TTL * 9));
    let options = LockOptions::new().wait(Duration::from_secs(1));
    let guard = locks.lock("k").options(&options).acquire().await.unwrap();
    assert_eq!(ttl_of_k(&locks).await, Some(TTL));
    let started = Instant::now();
    locks
        .lock("k")
        .options(&options)
        .acquire()
        .await
        .unwrap_err();
    assert_eq!(started.elapsed(), Duration::from_secs(1));
    guard.release().await.unwrap();

    let both = LockOptions::new().ttl(TTL).name("order").with(&options);
    assert_eq!(both, options.ttl(TTL).name("order"));
}

#[tokio::test(start_paused = true)]
async fn renewal_hold_times_and_the_report_of_the_holder_are_options() {
    let locks = LockManager::in_process();
    let short = LockOptions::new().ttl(TTL).without_renewal();
    let guard = locks.lock("k").options(&short).acquire().await.unwrap();
    assert_eq!(guard.ended().await.reason, EndReason::Expired);
    drop(guard);

    let limited = LockOptions::new().max_hold(Duration::from_secs(1));
    let guard = locks.lock("k").options(&limited).acquire().await.unwrap();
    assert_eq!(guard.ended().await.reason, EndReason::MaxHold);
    drop(guard);
    sleep(Duration::from_secs(60)).await;

    let kept = LockOptions::new().hold_at_least(TTL);
    let guard = locks.lock("k").options(&kept).acquire().await.unwrap();
    guard.release().await.unwrap();
    let reporting = LockOptions::new().wait(Duration::ZERO).report_holder();
    let busy = locks.lock("k").options(&reporting).acquire().await;
    let Err(Error::TimedOut { holder, .. }) = busy else {
        panic!("{busy:?}");
    };
    assert!(holder.is_some());
    advance(TTL * 2).await;
    assert!(locks.lock("k").try_acquire().await.unwrap().is_some());
}

#[test]
fn a_blocking_lock_and_its_manager_take_the_options() {
    let locks = blocking::LockManager::builder()
        .options(&LockOptions::new().wait(Duration::ZERO))
        .build(InProcess::new())
        .unwrap();
    let guard = locks.lock("k").acquire().unwrap();
    let started = std::time::Instant::now();
    locks.lock("k").acquire().unwrap_err();
    let options = LockOptions::new().wait(Duration::from_millis(50));
    locks.lock("k").options(&options).acquire().unwrap_err();
    assert!(started.elapsed() >= Duration::from_millis(50));
    guard.release().unwrap();
}

#[distributed_lock("k", options = options)]
async fn ttl_in_a_call(
    options: LockOptions,
    locks: &LockManager,
) -> Result<Option<Duration>, Error> {
    Ok(ttl_of_k(locks).await)
}

#[distributed_lock("k", options = seven_seconds(), ttl = "9s", contended = "skip")]
async fn ttl_of_the_attribute(locks: &LockManager) -> Result<Option<Option<Duration>>, Error> {
    Ok(Some(ttl_of_k(locks).await))
}

#[distributed_lock("k", options = LockOptions::new().wait(Duration::from_secs(3)), contended = "skip")]
async fn skipped_after_three_seconds() -> Result<Option<()>, Error> {
    Ok(Some(()))
}

#[tokio::test(start_paused = true)]
async fn an_attribute_takes_options_and_its_own_options_replace_them() {
    let locks = LockManager::in_process();
    let calls = async {
        let ttl = ttl_in_a_call(seven_seconds(), &locks).await.unwrap();
        assert_eq!(ttl, Some(TTL));
        let ttl = ttl_of_the_attribute(&locks).await.unwrap();
        assert_eq!(ttl, Some(Some(Duration::from_secs(9))));
        let guard = locks.lock("k").acquire().await.unwrap();
        let started = Instant::now();
        let call = tokio::spawn(locks.as_default(skipped_after_three_seconds()));
        assert_eq!(call.await.unwrap().unwrap(), None);
        assert_eq!(started.elapsed(), Duration::from_secs(3));
        guard.release().await.unwrap();
    };
    locks.as_default(calls).await;
}
