//! Waiters without a turn in the queue.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::backend::{AttemptAnswer, Backend};

use crate::single::server::Server;
use crate::unfair_waiters::{self as waiters, acquires, attempt};

async fn connect(server: &Server) -> Redis {
    Redis::connect(&server.url()).await.unwrap()
}

#[tokio::test]
async fn a_silent_waiter_delays_others_only_if_it_has_a_turn() {
    let server = Server::start().await;
    waiters::a_silent_waiter_delays_others_only_if_it_has_a_turn(async || connect(&server).await)
        .await;
}

#[tokio::test]
async fn each_waiter_is_notified_and_one_acquires() {
    let server = Server::start().await;
    waiters::each_waiter_is_notified_and_one_acquires(async || connect(&server).await).await;
}

#[tokio::test]
async fn a_waiter_with_a_turn_precedes_one_without() {
    let server = Server::start().await;
    waiters::a_waiter_with_a_turn_precedes_one_without(async || connect(&server).await).await;
}

#[tokio::test]
async fn each_waiter_polls_when_the_lease_ends() {
    let server = Server::start().await;
    let redis = connect(&server).await;
    let lease = Duration::from_secs(5);
    let mut holder = attempt("k", true);
    holder.ttl = lease;
    let _held = acquires(&redis, &holder).await.unwrap();
    let first = attempt("k", false);
    assert!(acquires(&redis, &first).await.is_none());
    for fair in [false, true] {
        let behind = redis.attempt(&attempt("k", fair)).await.unwrap();
        let AttemptAnswer::Busy { retry_after } = behind else {
            panic!("{behind:?}");
        };
        assert_eq!(retry_after <= lease, !fair, "{retry_after:?}");
    }
}
