//! Waiters without a turn in the queue, which have a node only while they compete for a free lock.

use leasehold::backend::Backend;

use crate::server::{alone, connect};
use crate::unfair_waiters::{self as waiters, acquires, attempt};

#[tokio::test]
async fn a_silent_waiter_delays_others_only_if_it_has_a_turn() {
    let address = alone().await.address();
    waiters::a_silent_waiter_delays_others_only_if_it_has_a_turn(async || connect(&address).await)
        .await;
}

#[tokio::test]
async fn each_waiter_is_notified_and_one_acquires() {
    let address = alone().await.address();
    waiters::each_waiter_is_notified_and_one_acquires(async || connect(&address).await).await;
}

#[tokio::test]
async fn a_waiter_with_a_turn_precedes_one_without() {
    let address = alone().await.address();
    waiters::a_waiter_with_a_turn_precedes_one_without(async || connect(&address).await).await;
}

#[tokio::test]
async fn a_waiter_that_competes_in_vain_leaves_no_node() {
    let backend = connect(&alone().await.address()).await;
    let (mut vain, mut rounds) = (0, 0);
    while vain == 0 {
        rounds += 1;
        assert!(rounds < 1_000, "no attempts competed");
        let rivals = [(); 4].map(|()| attempt(&format!("vain-{rounds}"), false));
        let acquired =
            futures_util::future::join_all(rivals.iter().map(|it| acquires(&backend, it)));
        let acquired = acquired.await.into_iter().flatten().count();
        vain += 4 - acquired;
        let seen = backend.inspect(&rivals[0].key).await.unwrap();
        assert_eq!((acquired, seen.waiting), (1, 0), "{seen:?}");
    }
}
