//! The in-process fence store: which tokens it admits, which it refuses, and the result of concurrent calls.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use leasehold::{AdmitError, Error, FenceStore, FencingToken, InProcessFenceStore, Stale};

fn token(number: i64) -> FencingToken {
    FencingToken::try_from(number).unwrap()
}

#[tokio::test]
async fn the_newest_token_is_admitted_again_and_older_tokens_are_refused() {
    let fences = InProcessFenceStore::new();
    for accepted in [5, 5, 9, 9] {
        fences.admit("a", token(accepted)).await.unwrap();
    }
    for refused in [1, 5, 8] {
        let stale = fences.admit("a", token(refused)).await.unwrap_err();
        let expected = Stale {
            token: token(refused),
            current: token(9),
        };
        assert!(matches!(stale, AdmitError::Stale(it) if it == expected));
    }
    fences.admit("a", token(9)).await.unwrap();
}

#[tokio::test]
async fn each_resource_has_its_own_fence() {
    let fences = InProcessFenceStore::new();
    fences.admit("a", token(9)).await.unwrap();
    fences.admit("b", token(1)).await.unwrap();
    fences.admit("", token(1)).await.unwrap();
    assert!(fences.admit("a", token(1)).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_largest_of_concurrent_tokens_is_kept() {
    for _ in 0..50 {
        let fences: Arc<dyn FenceStore> = Arc::new(InProcessFenceStore::new());
        let tasks: Vec<_> = (1..=64)
            .map(|number| {
                let fences = Arc::clone(&fences);
                tokio::spawn(async move { fences.admit("a", token(number)).await.is_ok() })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(fences.admit("a", token(63)).await.is_err());
        fences.admit("a", token(64)).await.unwrap();
    }
}

#[test]
fn stale_and_admit_errors_convert_into_error_with_the_same_text() {
    let stale = Stale {
        token: token(1),
        current: token(2),
    };
    assert_eq!(Error::from(stale).to_string(), stale.to_string());
    let refused = AdmitError::from(stale);
    assert_eq!(Error::from(refused).to_string(), stale.to_string());
}
