use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use leasehold::Error;
use leasehold::conformance::Fault;
use tokio::time::Instant;

use crate::rules::tools::{KEY, Scene};

/// Runs the body after the acquire, like a caller.
async fn locked(scene: &Scene, body_ran: &AtomicBool) -> Result<(), Error> {
    let guard = scene.locks.lock(KEY).acquire().await?;
    guard
        .run(async |_| {
            body_ran.store(true, Ordering::Relaxed);
            Ok::<_, Error>(())
        })
        .await?;
    guard.release().await?;
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn no_body_runs_while_the_backend_is_down() {
    for fault in [
        Fault::Fail,
        Fault::LoseAnswer,
        Fault::HangBefore,
        Fault::Panic,
    ] {
        let scene = Scene::new(move |_, _| fault);
        let body_ran = AtomicBool::new(false);
        let started = Instant::now();
        let error = locked(&scene, &body_ran).await.unwrap_err();
        assert!(matches!(error, Error::Backend { .. }), "{error:?}");
        assert!(!body_ran.into_inner());
        let took = started.elapsed();
        assert!(took <= Duration::from_secs(12), "{fault:?} took {took:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_never_reported_as_busy() {
    for fault in [Fault::Fail, Fault::LoseAnswer, Fault::HangBefore] {
        let scene = Scene::new(move |_, _| fault);
        let tried = scene.locks.lock(KEY).try_acquire().await;
        assert!(matches!(tried, Err(Error::Backend { .. })), "{tried:?}");
        let wait = Duration::from_secs(3);
        let waited = scene.locks.lock(KEY).wait(wait).acquire().await;
        assert!(matches!(waited, Err(Error::Backend { .. })), "{waited:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquire_retries_a_failing_backend_until_its_wait_is_over() {
    for wait in [500, 1_000, 2_000, 3_000].map(Duration::from_millis) {
        let scene = Scene::new(|_, _| Fault::Fail);
        let started = Instant::now();
        let waited = scene.locks.lock(KEY).wait(wait).acquire().await;
        assert!(matches!(waited, Err(Error::Backend { .. })), "{waited:?}");
        let left = wait.saturating_sub(started.elapsed());
        assert!(
            left <= Duration::from_millis(10),
            "{left:?} of {wait:?} were left"
        );
        assert!(started.elapsed() <= wait);
    }
}

#[tokio::test(start_paused = true)]
async fn an_acquire_succeeds_if_the_backend_is_back_before_its_wait_is_over() {
    for wait in [500, 1_000, 2_000, 3_000].map(Duration::from_millis) {
        let back = Instant::now() + wait - Duration::from_millis(15);
        let scene = Scene::new(move |_, _| match Instant::now() < back {
            true => Fault::Fail,
            false => Fault::None,
        });
        let waited = scene.locks.lock(KEY).wait(wait).acquire().await;
        assert!(waited.is_ok(), "{wait:?}: {waited:?}");
    }
}
