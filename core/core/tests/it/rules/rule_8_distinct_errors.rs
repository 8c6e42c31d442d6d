use std::error::Error as _;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use leasehold::backend::Applied;
use leasehold::conformance::Fault;
use leasehold::{Error, LockManager};

use tokio::time::Instant;

use crate::rules::tools::{KEY, Scene};

#[tokio::test(start_paused = true)]
async fn a_busy_lock_returns_none_or_timed_out() {
    let scene = Scene::calm();
    let _guard = scene.locks.lock(KEY).acquire().await.unwrap();
    assert!(scene.locks.lock(KEY).try_acquire().await.unwrap().is_none());
    let wait = Duration::from_secs(5);
    let error = scene
        .locks
        .lock(KEY)
        .wait(wait)
        .acquire()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::TimedOut { waited, .. } if *waited == wait),
        "{error:?}"
    );
    assert!(error.is_temporary());
    let once = scene.locks.lock(KEY).wait(Duration::ZERO).acquire().await;
    assert!(matches!(once, Err(Error::TimedOut { .. })), "{once:?}");
}

#[tokio::test(start_paused = true)]
async fn a_backend_error_says_whether_the_request_was_applied() {
    for (fault, expected) in [
        (Fault::Fail, Applied::No),
        (Fault::LoseAnswer, Applied::Unknown),
        (Fault::HangBefore, Applied::Unknown),
    ] {
        let scene = Scene::new(move |_, _| fault);
        let error = scene.locks.lock(KEY).try_acquire().await.unwrap_err();
        let Error::Backend {
            applied, source, ..
        } = &error
        else {
            panic!("{error:?}");
        };
        assert_eq!(
            (*applied, source.applied()),
            (expected, expected),
            "{fault:?}"
        );
        assert!(error.source().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn after_an_unanswered_request_a_failed_retry_stays_unknown() {
    // The first reply is lost, and all later requests fail.
    let scene = Scene::new(|_, nth| {
        if nth == 1 {
            Fault::LoseAnswer
        } else {
            Fault::Fail
        }
    });
    let error = scene.locks.lock(KEY).acquire().await.unwrap_err();
    let Error::Backend {
        applied, source, ..
    } = error
    else {
        panic!("{error:?}");
    };
    assert_eq!((applied, source.applied()), (Applied::Unknown, Applied::No));
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_waiting_and_new_acquires_return_closed() {
    let scene = Scene::calm();
    let _held = scene.other().lock(KEY).acquire().await.unwrap();
    let waiting = tokio::spawn(scene.locks.lock(KEY).acquire());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    scene.locks.shutdown().await.unwrap();
    assert!(
        started.elapsed() <= Duration::from_millis(1),
        "{:?}",
        started.elapsed()
    );
    for refused in [
        waiting.await.unwrap().err(),
        scene.locks.lock("other").acquire().await.err(),
    ] {
        assert!(matches!(refused, Some(Error::Closed { .. })), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn renew_returns_a_backend_error_while_valid_and_lost_afterwards() {
    let scene = Scene::new(|command, _| match command {
        leasehold::conformance::Command::Renew => Fault::Fail,
        _ => Fault::None,
    });
    let guard = scene.locks.lock(KEY).acquire().await.unwrap();
    let error = guard.renew().await.unwrap_err();
    assert!(matches!(error, Error::Backend { .. }), "{error:?}");
    assert!(guard.is_valid());
    guard.ended().await;
    let error = guard.renew().await.unwrap_err();
    assert!(matches!(error, Error::Lost(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn invalid_keys_and_options_are_refused_before_anything_is_sent() {
    let scene = Scene::calm();
    let lock = |key: &str| scene.locks.lock(key);
    let refused = [
        lock("").acquire().await.unwrap_err(),
        lock("a}b").acquire().await.unwrap_err(),
        lock(KEY).ttl(Duration::ZERO).acquire().await.unwrap_err(),
        lock(KEY).ttl(Duration::MAX).acquire().await.unwrap_err(),
        lock(KEY)
            .max_hold(Duration::ZERO)
            .acquire()
            .await
            .unwrap_err(),
    ];
    for error in refused {
        assert!(
            matches!(error, Error::Key(_) | Error::Option(_)),
            "{error:?}"
        );
        assert!(!error.is_temporary());
    }
    assert_eq!(scene.log.count(leasehold::conformance::Command::Attempt), 0);
}

#[test]
fn an_acquire_outside_a_runtime_returns_no_runtime() {
    let acquire = LockManager::in_process().lock(KEY).acquire();
    let mut acquire = std::pin::pin!(acquire);
    let poll = acquire
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()));
    assert!(matches!(poll, Poll::Ready(Err(Error::NoRuntime))));
}

#[test]
fn a_converted_error_does_not_repeat_its_message_as_its_cause() {
    let lost = leasehold::Key::new("", "").unwrap_err();
    let all = Error::from(lost.clone());
    assert_eq!(all.to_string(), lost.to_string());
    assert!(
        all.source().is_none(),
        "a message that is told once is not told again as its own cause"
    );
}

#[tokio::test(start_paused = true)]
async fn an_acquire_ends_within_its_wait_plus_one_command_timeout() {
    let wait = Duration::from_secs(5);
    let command = Duration::from_secs(2);
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let worst = random.u64(1..5_000);
        let scene = Scene::new(move |_, _| {
            let delay = Duration::from_millis(random.u64(..worst));
            match random.u8(..8) {
                0 => Fault::Fail,
                1 => Fault::LoseAnswer,
                2 => Fault::SlowRequest(delay),
                3 => Fault::SlowAnswer(delay),
                4 => Fault::HangBefore,
                5 => Fault::HangAfter,
                6 => Fault::Panic,
                _ => Fault::None,
            }
        });
        let _held = scene.other().lock(KEY).acquire().await.unwrap();
        let started = Instant::now();
        let waited = scene.locks.lock(KEY).wait(wait).acquire().await;
        assert!(waited.is_err(), "seed {seed}");
        let took = started.elapsed();
        let most = wait + command + Duration::from_millis(10);
        assert!(took <= most, "seed {seed} took {took:?}");
    }
}
