//! A holder that is stopped for longer than its lease, as by a long garbage collection or a migrated machine.

use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{FencingToken, LockManager};
use leasehold_nemesis::clients::Task;
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;

use crate::processes::start;

const PATIENCE: Duration = Duration::from_secs(60);

async fn said(holder: &mut ChildProcess, what: &str) -> String {
    let line = holder.line_where(PATIENCE, |line| line.starts_with(what));
    line.await.unwrap()[what.len()..].trim().to_owned()
}

#[tokio::test]
async fn paused_holder_detects_its_expired_lease_without_a_server_reply() {
    let server = RedisServer::start().await.unwrap();
    // Long enough for renewals on a busy machine.
    let mut holder = start(&server.url(), &Task::Hold(Duration::from_secs(3)));
    let first: FencingToken = said(&mut holder, "held").await.parse().unwrap();
    holder.tell("look").unwrap();
    assert_eq!(said(&mut holder, "valid").await, "true");

    holder.pause().unwrap();
    let locks = LockManager::new(Redis::connect(&server.url()).await.unwrap());
    let next = locks.lock("k").wait(PATIENCE).acquire().await.unwrap();
    assert!(next.token() > first, "{} after {first}", next.token());

    // The server does not reply during this check, and the holder prints both lines in any order.
    server.pause().unwrap();
    holder.tell("look").unwrap();
    holder.resume().unwrap();
    let mut words = [said(&mut holder, "").await, said(&mut holder, "").await];
    words.sort();
    assert_eq!(words, ["lost Expired", "valid false"]);
    server.resume().unwrap();

    // The requests of the resumed holder do not affect the lock of the next holder.
    next.renew().await.unwrap();
    next.release().await.unwrap();
}
