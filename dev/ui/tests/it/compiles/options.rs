//! Each option in each of its forms.
#![deny(warnings)]

use std::sync::Arc;
use std::time::Duration;

use leasehold::{Error, LockManager, Schedule, distributed_lock};

#[distributed_lock("k", manager = locks)]
async fn by_reference(locks: &LockManager) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", manager = locks)]
async fn by_value(locks: LockManager) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", manager = locks)]
async fn shared(locks: Arc<LockManager>) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", manager = make()?)]
async fn made() -> Result<(), Error> {
    Ok(())
}

fn make() -> Result<LockManager, Error> {
    Ok(LockManager::in_process())
}

#[distributed_lock("k", manager = if first { one } else { other })]
async fn chosen(first: bool, one: &LockManager, other: &LockManager) -> Result<(), Error> {
    Ok(())
}

macro_rules! timed {
    ($name:ident, $ttl:expr, $wait:expr) => {
        #[distributed_lock("k", ttl = $ttl, wait = $wait)]
        async fn $name() -> Result<(), Error> {
            Ok(())
        }
    };
}

timed!(from_a_macro, "30s", "0s");
timed!(from_a_macro_with_expressions, TTL, TTL * 2);

#[distributed_lock("k", crate = ::leasehold)]
async fn by_its_path() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", ttl = "1500ms", wait = "5s", max_hold = "10m")]
async fn literals() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", ttl = "24h")]
async fn longest_ttl() -> Result<(), Error> {
    Ok(())
}

const TTL: Duration = Duration::from_secs(9);

#[distributed_lock("k", ttl = TTL, wait = wait, max_hold = Duration::from_secs(60) * 2)]
async fn expressions(wait: Duration) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("held for a minimum", hold_at_least = minimum)]
async fn held(minimum: Duration) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", wait = "0s")]
async fn one_try() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", wait = "forever", contended = "error", lost = "cancel")]
async fn defaults() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", contended = "skip")]
async fn skips() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", contended = "skip", wait = "1s")]
async fn skips_a_value() -> Result<Option<u32>, Error> {
    Ok(Some(1))
}

#[distributed_lock("k", lost = "continue")]
async fn finishes() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("report:{day}", once = "7d")]
async fn recorded(day: &str, _unused: String) -> Result<usize, Error> {
    Ok(day.len())
}

#[distributed_lock("k", once = KEEP, keep_failure = "0s", ttl = TTL, wait = "forever", max_hold = "1h")]
async fn recorded_with_every_time() -> Result<(), Error> {
    Ok(())
}

const KEEP: Duration = Duration::from_secs(9);

#[distributed_lock("nightly", once = "7d", slot = "0 3 * * *", guard = lock)]
async fn nightly() -> Result<String, Error> {
    Ok(lock.key().to_owned())
}

#[distributed_lock("hourly", once = "1d", slot = *hourly)]
async fn by_a_schedule(hourly: &Schedule) -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k", guard = lock,)]
async fn sees_its_lock() -> Result<bool, Error> {
    let watching = lock.ended();
    drop(watching);
    Ok(lock.is_valid() && lock.key() == "k" && lock.token().get() > 0)
}

mod renamed {
    pub(crate) mod vendored {
        pub(crate) use leasehold as lock;
    }

    #[vendored::lock::distributed_lock("k", crate = vendored::lock)]
    async fn relative() -> Result<(), vendored::lock::Error> {
        Ok(())
    }

    #[vendored::lock::distributed_lock("k", crate = crate::compiles::options::renamed::vendored::lock)]
    pub(crate) async fn absolute() -> Result<(), vendored::lock::Error> {
        relative().await
    }
}

#[tokio::test]
async fn each_form_of_option_compiles_and_runs() -> Result<(), Error> {
    let locks = LockManager::in_process();
    by_reference(&locks).await?;
    by_value(locks.clone()).await?;
    shared(Arc::new(locks.clone())).await?;
    made().await?;
    chosen(true, &locks, &LockManager::in_process()).await?;
    locks.as_default(with_the_current_manager()).await
}

async fn with_the_current_manager() -> Result<(), Error> {
    literals().await?;
    from_a_macro().await?;
    from_a_macro_with_expressions().await?;
    by_its_path().await?;
    longest_ttl().await?;
    expressions(Duration::from_secs(1)).await?;
    held(Duration::from_secs(1)).await?;
    one_try().await?;
    defaults().await?;
    skips().await?;
    assert_eq!(skips_a_value().await?, Some(1));
    finishes().await?;
    assert!(sees_its_lock().await?);
    assert_eq!(recorded("monday", String::new()).await?, 6);
    recorded_with_every_time().await?;
    assert!(nightly().await?.ends_with("T03:00:00Z"));
    let hourly = Schedule::cron("@hourly")?;
    by_a_schedule(&hourly).await?;
    let nested = renamed::absolute().await;
    assert!(matches!(nested, Err(Error::AlreadyHeld { .. })));
    Ok(())
}
