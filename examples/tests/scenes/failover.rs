//! `failover`: two hold the lock, and the fence refuses the older one.

use crate::programs::{assert_says, said};

const FAILOVER: &str = env!("CARGO_BIN_EXE_failover");

#[test]
fn a_lock_is_lost_with_its_primary_and_its_holder_is_refused() {
    let text = said(FAILOVER, &[]);
    assert_says(&text, "Both are valid: true and true.");
    assert_says(&text, "Client 1's write: ");
    assert_says(&text, "The order is \"shipped by client 2\".");
}

#[test]
fn a_lock_that_no_replica_has_is_not_granted_if_one_asks_for_that() {
    let text = said(FAILOVER, &["--synced"]);
    assert_says(&text, "Client 1 is refused: ");
    assert_says(&text, "0 of 1 replicas acknowledged the lock");
    assert_says(&text, "The order is \"shipped by client 2\".");
}
