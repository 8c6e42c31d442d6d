//! `connect` by the scheme of a URL.

use leasehold::backend::InProcess;
use leasehold::{ConnectError, LockManager, blocking};

use crate::named_backend;

#[tokio::test]
async fn a_backend_of_another_crate_connects_with_and_without_slashes() {
    for url in ["named:plain", "named://host/path"] {
        named_backend::add(url, || async { Ok(InProcess::new()) });
        let locks = LockManager::connect(url).await.unwrap();
        let guard = locks.lock("k").acquire().await.unwrap();
        guard.release().await.unwrap();
        let locks = LockManager::builder().connect(url).await.unwrap();
        let guard = locks.lock("k").acquire().await.unwrap();
        guard.release().await.unwrap();
    }
    named_backend::add("named:refuse", || async {
        Err(ConnectError::url("refused"))
    });
    let refused = LockManager::connect("named:refuse").await.unwrap_err();
    assert!(refused.to_string().contains("refused"), "{refused}");
}

#[test]
fn the_blocking_manager_connects_to_a_backend_of_another_crate() {
    named_backend::add("named:blocking", || async { Ok(InProcess::new()) });
    let locks = blocking::LockManager::connect("named:blocking").unwrap();
    locks.lock("k").acquire().unwrap().release().unwrap();
}
