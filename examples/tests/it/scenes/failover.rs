//! `failover`: two clients hold the lock, and the fence refuses the older one.

use crate::scenes::programs::{assert_says, said};

const FAILOVER: &str = env!("CARGO_BIN_EXE_failover");

/// Runs both cases in one test, because slow Sentinels do not elect a primary.
#[test]
fn failover_loses_a_lock_unless_replicas_are_required() {
    refused_by_the_fence();
    refused_for_want_of_a_replica();
}

fn refused_by_the_fence() {
    let text = said(FAILOVER, &[]);
    assert_says(&text, "Both are valid: true and true.");
    assert_says(&text, "Client 1's write: ");
    assert_says(&text, "The order is \"shipped by client 2\".");
}

fn refused_for_want_of_a_replica() {
    let text = said(FAILOVER, &["--synced"]);
    assert_says(&text, "Client 1 is refused: ");
    assert_says(&text, "0 of 1 replicas acknowledged the lock");
    assert_says(&text, "The order is \"shipped by client 2\".");
}
