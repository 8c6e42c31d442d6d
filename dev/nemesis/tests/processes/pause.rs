//! A holder that is stopped past its lease, as a long garbage collection or a moved machine would stop it.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{FencingToken, LockManager};
use leasehold_nemesis::clients::Task;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;

use crate::start;

const PATIENCE: Duration = Duration::from_secs(10);

async fn said(holder: &mut ChildProcess, what: &str) -> String {
    let line = holder.line_where(PATIENCE, |line| line.starts_with(what));
    line.await.unwrap()[what.len()..].trim().to_owned()
}

#[tokio::test]
async fn a_holder_that_slept_past_its_lease_knows_so_before_it_hears_from_anybody() {
    let server = RedisServer::start().await.unwrap();
    let mut holder = start(&server.url(), &Task::Hold(Duration::from_secs(1)));
    let first: FencingToken = said(&mut holder, "held").await.parse().unwrap();
    holder.tell("look").unwrap();
    assert_eq!(said(&mut holder, "valid").await, "true");

    holder.pause().unwrap();
    let locks = LockManager::new(Redis::connect(&server.url()).await.unwrap());
    let next = locks.lock("k").wait(PATIENCE).acquire().await.unwrap();
    assert!(next.token() > first, "{} after {first}", next.token());

    // Nothing answers the holder while it looks, and it says both whatever comes first.
    server.pause().unwrap();
    holder.tell("look").unwrap();
    holder.resume().unwrap();
    let mut words = [said(&mut holder, "").await, said(&mut holder, "").await];
    words.sort();
    assert_eq!(words, ["lost Expired", "valid false"]);
    server.resume().unwrap();

    // What the holder sends on waking does not cost its successor the lock.
    next.renew().await.unwrap();
    next.release().await.unwrap();
}
