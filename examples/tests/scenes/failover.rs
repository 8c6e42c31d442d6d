//! `failover`: two hold the lock, and the fence refuses the older one.

use crate::programs::{assert_says, said};

const FAILOVER: &str = env!("CARGO_BIN_EXE_failover");

/// One after the other: Sentinels that are kept from running elect nobody.
#[test]
fn a_lock_is_lost_with_its_primary_and_not_granted_where_one_asks_for_replicas() {
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
