//! Connects to databases by URL.

mod server;
mod settings;
mod sqlite;
mod tables;
mod tls;

use std::error::Error as _;

use leasehold::{ConnectError, Error, LockManager};

/// Returns the error of a URL, and checks that it does not contain a password.
async fn refusal(url: &str) -> ConnectError {
    let error = match LockManager::connect(url).await.unwrap_err() {
        Error::Connect(error) => error,
        other => panic!("{url}: {other:?}"),
    };
    let all = text(&error) + &format!("{error:?}");
    assert!(!all.contains("secret"), "{all}");
    error
}

/// Returns the text of an error and of its causes.
fn text(error: &ConnectError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// Checks that two managers share the lock on `k`, and releases it.
async fn assert_shared(one: &LockManager, other: &LockManager) {
    let guard = one.lock("k").acquire().await.unwrap();
    assert!(other.lock("k").try_acquire().await.unwrap().is_none());
    guard.release().await.unwrap();
    let guard = other.lock("k").try_acquire().await.unwrap();
    guard.unwrap().release().await.unwrap();
}
