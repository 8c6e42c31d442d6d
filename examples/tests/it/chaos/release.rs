//! A release that is not awaited.

use std::cell::Cell;

use leasehold::chaos::Chaos;
use leasehold::{Error, LockManager};

use crate::chaos::{found, passes};

/// Runs two steps, each under the lock. The second step is skipped if another client works on the report.
async fn two_steps(locks: &LockManager, steps: &Cell<u32>, awaits: bool) -> Result<(), Error> {
    let guard = locks.lock("report").acquire().await?;
    steps.set(steps.get() + 1);
    let release = guard.release();
    if awaits {
        release.await?;
    } else {
        // The release continues in the background.
        drop(release);
    }
    let second = locks.lock("report").try_acquire().await?;
    if let Some(guard) = second {
        steps.set(steps.get() + 1);
        guard.release().await?;
    }
    Ok(())
}

async fn both_steps_are_done(chaos: Chaos, awaits: bool) {
    let steps = Cell::new(0);
    let end = chaos.client(async |locks| two_steps(&locks, &steps, awaits).await);
    if let Some(Ok(())) = end.await {
        assert_eq!(steps.get(), 2, "the second step was skipped");
    }
}

#[test]
fn release_that_is_not_awaited_is_found() {
    let failure = found(async |chaos| both_steps_are_done(chaos, false).await);
    assert_eq!(failure.replay().unwrap(), "0/calm");
}

#[test]
fn awaited_release_passes() {
    passes(async |chaos| both_steps_are_done(chaos, true).await);
}
