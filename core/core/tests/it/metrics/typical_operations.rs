#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::InProcess;
use leasehold::conformance::{Command, Fault, Faulty};

/// Runs typical operations: an acquire, a renewal, a failed try, a timeout, a release that fails once, a cancelled
/// acquire, and a loss.
pub(crate) async fn a_life() {
    let mut releases = 0;
    let world = InProcess::new();
    let backend = Faulty::new(world.clone(), move |call| {
        releases += u32::from(call.command == Command::Release);
        match call.command {
            Command::Release if releases == 1 => Fault::LoseAnswer,
            _ => Fault::None,
        }
    });
    let locks = LockManager::new(backend);
    let wait = Duration::from_secs(1);
    let guard = locks.lock("order:42").acquire().await.unwrap();
    assert!(
        locks
            .lock("order:42")
            .try_acquire()
            .await
            .unwrap()
            .is_none()
    );
    let busy = locks.lock("order:42").wait(wait).acquire().await;
    assert!(busy.is_err());
    assert!(
        tokio::time::timeout(wait, locks.lock("order:42").acquire())
            .await
            .is_err()
    );
    tokio::time::sleep(Duration::from_secs(30)).await;
    guard.release().await.unwrap();
    let guard = locks.lock("order:43").acquire().await.unwrap();
    LockManager::new(world)
        .force_release("order:43")
        .await
        .unwrap();
    guard.ended().await;
}
