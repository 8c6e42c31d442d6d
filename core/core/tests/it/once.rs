//! `once` in process: options, types of results, nesting, and records without a reply.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::{Applied, InProcess};
use leasehold::conformance::{Command, Fault, Faulty};
use leasehold::{Error, InvalidOption, LockManager, MAX_RETENTION, OnceError, Operation};
use tokio::time::{Instant, advance, sleep};

async fn fails(_lock: leasehold::LockHandle) -> Result<u32, Error> {
    Err(Error::NoManager)
}

#[tokio::test(start_paused = true)]
async fn a_result_is_kept_for_its_retention_time() {
    let locks = LockManager::in_process();
    let hour = Duration::from_secs(3600);
    let run = async |n: u32| {
        let once = locks.once("k").keep(hour);
        once.run(async |_| Ok::<_, Error>(n)).await.unwrap()
    };
    assert_eq!(run(1).await, 1);
    advance(hour - Duration::from_millis(1)).await;
    assert_eq!(run(2).await, 1);
    advance(Duration::from_millis(1)).await;
    assert_eq!(run(3).await, 3);
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_for_its_retention_time_and_names_the_error() {
    let locks = LockManager::in_process();
    let second = Duration::from_secs(1);
    let own = locks.once("k").run(fails).await.unwrap_err();
    assert!(matches!(own, Error::NoManager), "{own}");
    let shared = locks.once("k").run(async |_| Ok::<u32, Error>(1)).await;
    let shared = shared.unwrap_err();
    assert!(shared.is_temporary());
    let text = shared.to_string();
    assert!(
        text.contains("the body of another caller failed on `k`"),
        "{text}"
    );
    assert!(text.ends_with(&Error::NoManager.to_string()), "{text}");
    advance(second).await;
    let next = locks.once("k").run(async |_| Ok::<u32, Error>(1)).await;
    assert_eq!(next.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_with_a_retention_of_zero_is_not_shared() {
    let locks = LockManager::in_process();
    let once = || locks.once("k").keep_failure(Duration::ZERO);
    assert!(matches!(once().run(fails).await, Err(Error::NoManager)));
    assert!(matches!(once().run(fails).await, Err(Error::NoManager)));
}

#[tokio::test(start_paused = true)]
async fn retention_times_have_limits() {
    let locks = LockManager::in_process();
    let (zero, long) = (Duration::ZERO, MAX_RETENTION + Duration::from_millis(1));
    for (once, option) in [
        (locks.once("k").keep(zero), "keep"),
        (locks.once("k").keep(long), "keep"),
        (locks.once("k").keep_failure(long), "keep_failure"),
    ] {
        let error = once.run(fails).await.unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Option(
                    InvalidOption::TooShort { option: seen, .. }
                    | InvalidOption::TooLong { option: seen, .. }
                ) if *seen == option
            ),
            "{error}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_of_another_type_is_an_error_with_a_remedy() {
    let locks = LockManager::in_process();
    let text = async |_| Ok::<_, Error>("text".to_owned());
    locks.once("k").run(text).await.unwrap();
    let error = locks.once("k").run(fails).await.unwrap_err();
    assert!(
        matches!(&error, Error::Once(OnceError::Decode { .. })),
        "{error}"
    );
    assert!(locks.once("k").forget().await.unwrap());
    assert!(!locks.once("k").forget().await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_json_is_an_error_that_others_receive() {
    use std::collections::BTreeMap;
    let locks = LockManager::in_process();
    let body = async |_| Ok::<_, Error>(BTreeMap::from([((1, 2), 3)]));
    let error = locks.once("k").run(body).await.unwrap_err();
    assert!(
        matches!(&error, Error::Once(OnceError::Encode { .. })),
        "{error}"
    );
    let shared = locks.once("k").run(body).await.unwrap_err();
    assert!(
        matches!(&shared, Error::Once(OnceError::Failed { .. })),
        "{shared}"
    );
}

#[tokio::test(start_paused = true)]
async fn with_a_wait_of_zero_a_running_body_is_busy() {
    let locks = LockManager::in_process();
    let body = async |_| {
        let other = LockManager::clone(&locks);
        let other =
            tokio::spawn(async move { other.once("k").wait(Duration::ZERO).run(fails).await });
        assert!(other.await.unwrap().unwrap_err().is_busy());
        Ok::<u32, Error>(1)
    };
    locks.once("k").run(body).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_calls_itself_is_an_error() {
    let locks = LockManager::in_process();
    let body = async |_| locks.once("k").run(fails).await;
    let error = locks.once("k").run(body).await.unwrap_err();
    assert!(matches!(error, Error::AlreadyHeld { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn the_current_lock_is_that_of_the_body() {
    let locks = LockManager::in_process();
    let body = async |lock: leasehold::LockHandle| {
        assert_eq!(leasehold::current_lock()?.token(), lock.token());
        Ok::<u32, Error>(1)
    };
    locks.once("k").run(body).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_body_that_panics_records_nothing() {
    let locks = LockManager::in_process();
    let here = locks.clone();
    let body = async move |_| -> Result<u32, Error> { panic!("a bug in the body") };
    let panicked = tokio::spawn(async move { here.once("k").run(body).await });
    assert!(panicked.await.unwrap_err().is_panic());
    let next = locks.once("k").run(async |_| Ok::<u32, Error>(2)).await;
    assert_eq!(next.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_stops_the_body_and_records_nothing() {
    let world = InProcess::new();
    let (here, there) = (LockManager::new(world.clone()), LockManager::new(world));
    let body = async |_| {
        here.shutdown().await?;
        std::future::pending::<Result<u32, Error>>().await
    };
    let error = here.once("k").run(body).await.unwrap_err();
    assert!(error.is_lost(), "{error}");
    let next = there.once("k").run(async |_| Ok::<u32, Error>(2)).await;
    assert_eq!(next.unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn waiters_receive_the_result_when_the_body_ends() {
    let locks = LockManager::in_process();
    let started = Instant::now();
    let body = async |_| {
        sleep(Duration::from_millis(100)).await;
        Ok::<u32, Error>(1)
    };
    let calls = (0..20).map(|_| locks.once("k").run(body));
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    let took = started.elapsed();
    assert!(took < Duration::from_millis(110), "{took:?}");
}

/// Returns a manager that loses the reply to its first record, and whose watchdog then notices that the lock is gone.
/// The backend replies to later records if `replies_later` is set.
fn loses_the_reply(replies_later: bool) -> LockManager {
    let (mut records, mut renewals) = (0, 0);
    let backend = Faulty::new(InProcess::new(), move |call| match call.command {
        Command::Record => {
            records += 1;
            match (records, renewals) {
                (1, _) => Fault::LoseAnswer,
                (_, 0) => Fault::Fail,
                _ if replies_later => Fault::None,
                _ => Fault::Fail,
            }
        }
        Command::Renew => {
            renewals += 1;
            Fault::None
        }
        _ => Fault::None,
    });
    LockManager::new(backend)
}

#[tokio::test(start_paused = true)]
async fn a_record_whose_reply_is_lost_is_confirmed_after_the_loss_of_the_lock() {
    let locks = loses_the_reply(true);
    let once = || locks.once("k").ttl(Duration::from_secs(3));
    let own = once().run(async |_| Ok::<u32, Error>(1)).await;
    assert_eq!(own.unwrap(), 1);
    assert_eq!(once().run(fails).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_never_confirmed_is_not_reported_as_lost() {
    let locks = loses_the_reply(false);
    let once = || locks.once("k").ttl(Duration::from_secs(3));
    let own = once().run(async |_| Ok::<u32, Error>(1)).await.unwrap_err();
    assert!(!own.is_temporary(), "the body would run again");
    assert!(
        matches!(
            own,
            Error::Backend {
                operation: Operation::Record,
                applied: Applied::Unknown,
                ..
            }
        ),
        "{own}"
    );
    assert_eq!(once().run(fails).await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_is_kept_for_less_than_a_millisecond_is_not_recorded() {
    let records = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&records);
    let backend = Faulty::new(InProcess::new(), move |call| {
        counted.fetch_add(
            u32::from(call.command == Command::Record),
            Ordering::Relaxed,
        );
        Fault::None
    });
    let locks = LockManager::new(backend);
    let once = || locks.once("k").keep_failure(Duration::from_micros(999));
    assert!(matches!(once().run(fails).await, Err(Error::NoManager)));
    assert_eq!(records.load(Ordering::Relaxed), 0);
    let next = once().run(async |_| Ok::<u32, Error>(1));
    assert_eq!(next.await.unwrap(), 1);
    assert_eq!(records.load(Ordering::Relaxed), 1);
}
