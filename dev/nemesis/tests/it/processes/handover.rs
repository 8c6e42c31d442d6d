//! A handover of a lock from one process to another.

use std::time::Duration;

use leasehold::{Error, FenceStore, HandoverTicket, InProcessFenceStore, LockManager};
use leasehold_nemesis::clients::Task;
use leasehold_testkit::servers::RedisServer;

use crate::processes::start;

const PATIENCE: Duration = Duration::from_secs(60);

async fn ticket_of_a_process(url: &str, ttl: Duration) -> HandoverTicket {
    let mut giver = start(url, &Task::HandOver(ttl));
    let line = giver.line_where(PATIENCE, |line| line.starts_with("ticket "));
    let line = line.await.unwrap();
    giver.success(PATIENCE).await.unwrap();
    line["ticket ".len()..].parse().unwrap()
}

#[tokio::test]
async fn handed_over_lock_survives_the_exit_of_its_process() {
    let server = RedisServer::start().await.unwrap();
    let ticket = ticket_of_a_process(&server.url(), Duration::from_secs(30)).await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    assert!(locks.lock("k").try_acquire().await.unwrap().is_none());
    let taken = locks.accept(&ticket).await.unwrap();
    assert!(taken.token() > ticket.token());
    assert!(taken.is_valid());

    let again = locks.accept(&ticket).await;
    assert!(
        matches!(again, Err(Error::HandoverSpent { .. })),
        "{again:?}"
    );
    // Simulates late writes of the previous holder. They are accepted before the new holder's write, and refused after
    // it.
    let fence = InProcessFenceStore::new();
    fence.admit("order:42", ticket.token()).await.unwrap();
    fence.admit("order:42", taken.token()).await.unwrap();
    assert!(fence.admit("order:42", ticket.token()).await.is_err());

    taken.release().await.unwrap();
    let next = locks.lock("k").try_acquire().await.unwrap();
    assert!(next.unwrap().token() > ticket.token());
}

#[tokio::test]
async fn handover_ticket_is_refused_after_its_lease() {
    let server = RedisServer::start().await.unwrap();
    let ticket = ticket_of_a_process(&server.url(), Duration::from_secs(1)).await;
    let locks = LockManager::connect(&server.url()).await.unwrap();
    // A waiter gets the lock when the lease has expired.
    let next = locks.lock("k").wait(PATIENCE).acquire().await.unwrap();
    let late = locks.accept(&ticket).await;
    assert!(matches!(late, Err(Error::HandoverSpent { .. })), "{late:?}");
    assert!(next.is_valid());
}
