//! Which manager is used by code that does not name one. This file has only one test, because the process-wide default
//! is set only once.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use leasehold::LockManager;

#[tokio::test]
async fn current_prefers_the_scope_to_the_default_and_fails_without_both() {
    assert!(LockManager::current().is_err());

    let (tenant, global) = (LockManager::in_process(), LockManager::in_process());
    let held = tenant.lock("k").acquire().await.unwrap();
    assert!(tenant.as_default(current_is_busy()).await);

    global.set_global_default().unwrap();
    assert!(tenant.set_global_default().is_err());
    assert!(!current_is_busy().await);
    assert!(tenant.as_default(current_is_busy()).await);
    assert!(
        !tenant
            .as_default(global.as_default(current_is_busy()))
            .await
    );

    let in_a_task = tenant.as_default(async { tokio::spawn(current_is_busy()).await.unwrap() });
    assert!(
        !in_a_task.await,
        "a spawned task is not in its parent's scope"
    );
    drop(held);
}

async fn current_is_busy() -> bool {
    let locks = LockManager::current().unwrap();
    match locks.lock("k").try_acquire().await.unwrap() {
        Some(guard) => guard.release().await.is_err(),
        None => true,
    }
}
