//! Functions whose result is recorded.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use leasehold::{Error, FencingToken, LockManager, Schedule, distributed_lock};

/// Counts the runs of a body.
#[derive(Debug, Default)]
struct Runs(AtomicU32);

impl Runs {
    fn next(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn count(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Debug, thiserror::Error)]
enum ReportError {
    #[error("the source is down")]
    Down,
    #[error(transparent)]
    Lock(#[from] Error),
}

#[distributed_lock("report:{day}", manager = locks, once = "7d")]
async fn report(locks: &LockManager, day: &str, runs: &Runs) -> Result<String, ReportError> {
    Ok(format!("{day}: {}", runs.next()))
}

#[tokio::test(start_paused = true)]
async fn each_key_runs_its_body_once_and_later_calls_return_its_result() {
    let (locks, runs) = (LockManager::in_process(), Runs::default());
    for _ in 0..3 {
        let monday = report(&locks, "monday", &runs).await.unwrap();
        assert_eq!(monday, "monday: 1");
    }
    assert_eq!(
        report(&locks, "tuesday", &runs).await.unwrap(),
        "tuesday: 2"
    );
    assert_eq!(runs.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn result_is_kept_for_the_time_of_the_option() {
    let (locks, runs) = (LockManager::in_process(), Runs::default());
    report(&locks, "monday", &runs).await.unwrap();
    let week = Duration::from_secs(7 * 86_400);
    tokio::time::advance(week - Duration::from_secs(1)).await;
    assert_eq!(report(&locks, "monday", &runs).await.unwrap(), "monday: 1");
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(report(&locks, "monday", &runs).await.unwrap(), "monday: 2");
}

#[distributed_lock("fails", manager = locks, once = "1h", keep_failure = "5s")]
async fn fails(locks: &LockManager, runs: &Runs) -> Result<(), ReportError> {
    runs.next();
    tokio::time::sleep(Duration::from_millis(10)).await;
    Err(ReportError::Down)
}

#[distributed_lock("fails", manager = locks, once = "1h", keep_failure = "0s")]
async fn fails_alone(locks: &LockManager, runs: &Runs) -> Result<(), ReportError> {
    runs.next();
    tokio::time::sleep(Duration::from_millis(10)).await;
    Err(ReportError::Down)
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_shared_for_the_time_of_keep_failure() {
    let (locks, runs) = (LockManager::in_process(), Runs::default());
    let (first, second) = tokio::join!(fails(&locks, &runs), fails(&locks, &runs));
    assert!(matches!(first, Err(ReportError::Down)), "{first:?}");
    assert!(matches!(second, Err(ReportError::Lock(_))), "{second:?}");
    tokio::time::advance(Duration::from_secs(4)).await;
    fails(&locks, &runs).await.unwrap_err();
    assert_eq!(runs.count(), 1);
    tokio::time::advance(Duration::from_secs(2)).await;
    fails(&locks, &runs).await.unwrap_err();
    assert_eq!(runs.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn with_keep_failure_zero_each_call_runs_the_body() {
    let (locks, runs) = (LockManager::in_process(), Runs::default());
    let (first, second) = tokio::join!(fails_alone(&locks, &runs), fails_alone(&locks, &runs));
    first.unwrap_err();
    second.unwrap_err();
    assert_eq!(runs.count(), 2);
}

const NIGHTLY: &str = "0 3 * * *";

struct Jobs {
    locks: LockManager,
    nightly: Schedule,
    runs: Runs,
}

static NIGHTLY_SCHEDULE: LazyLock<Schedule> = LazyLock::new(|| Schedule::cron(NIGHTLY).unwrap());

impl Jobs {
    #[distributed_lock("nightly", manager = self.locks, once = "7d", slot = "0 3 * * *", guard = lock)]
    async fn by_a_literal(&self) -> Result<(String, FencingTokenValue), Error> {
        self.runs.next();
        Ok((lock.key().to_owned(), lock.token().into()))
    }

    #[distributed_lock("nightly", manager = self.locks, once = "7d", slot = self.nightly)]
    async fn by_a_field(&self) -> Result<(String, FencingTokenValue), Error> {
        panic!("the result is recorded");
    }

    #[distributed_lock("nightly", manager = self.locks, once = "7d", slot = NIGHTLY_SCHEDULE)]
    async fn by_a_static(&self) -> Result<(String, FencingTokenValue), Error> {
        panic!("the result is recorded");
    }
}

#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
struct FencingTokenValue(i64);

impl From<FencingToken> for FencingTokenValue {
    fn from(token: FencingToken) -> Self {
        Self(token.get())
    }
}

#[tokio::test(start_paused = true)]
async fn the_key_ends_with_the_slot_of_the_literal_field_or_static() {
    let jobs = Jobs {
        locks: LockManager::in_process(),
        nightly: Schedule::cron(NIGHTLY).unwrap(),
        runs: Runs::default(),
    };
    let expected = loop {
        let (before, first) = (jobs.nightly.slot(), jobs.by_a_literal().await.unwrap());
        let after = jobs.nightly.slot_at(SystemTime::now());
        // At 03:00 the slot may change.
        if before == after {
            assert_eq!(first.0, format!("nightly:{before}"));
            break first;
        }
    };
    assert_eq!(jobs.by_a_field().await.unwrap(), expected);
    assert_eq!(jobs.by_a_static().await.unwrap(), expected);
    assert_eq!(jobs.runs.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn after_a_failed_job_of_a_schedule_the_next_instance_runs_it() {
    #[distributed_lock("job", manager = locks, once = "7d", slot = "0 3 * * *")]
    async fn job(locks: &LockManager, runs: &Runs) -> Result<u32, ReportError> {
        match runs.next() {
            1 => Err(ReportError::Down),
            run => Ok(run),
        }
    }
    let (locks, runs) = (LockManager::in_process(), Runs::default());
    let (first, second, third) =
        tokio::join!(job(&locks, &runs), job(&locks, &runs), job(&locks, &runs));
    assert!(matches!(first, Err(ReportError::Down)), "{first:?}");
    assert_eq!((second.unwrap(), third.unwrap()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn call_without_a_manager_returns_the_error_of_the_function() {
    #[distributed_lock("k", once = "1h")]
    async fn nowhere() -> Result<(), ReportError> {
        Ok(())
    }
    let refused = nowhere().await;
    assert!(
        matches!(refused, Err(ReportError::Lock(Error::NoManager))),
        "{refused:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn invalid_cron_expression_is_an_error_and_not_a_panic() {
    let call = leasehold::__private::Call::new("k").once::<Result<(), Error>>(Duration::MAX);
    let refused = call.slot_of("0 3 * *").run(async |_| Ok(())).await;
    assert!(matches!(refused, Err(Error::Schedule(_))), "{refused:?}");
}

#[test]
fn the_future_of_a_call_can_be_spawned() {
    fn spawned(_: impl Future<Output = Result<String, ReportError>> + Send + 'static) {}
    spawned(async { report(&LockManager::in_process(), "monday", &Runs::default()).await });
}
