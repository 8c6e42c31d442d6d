//! A failover that loses a lock, and the fence that holds.
//!
//! Client 1 takes a lock. It is on the primary alone, as the link to the replica hangs, when the primary dies. The
//! Sentinels make the replica the primary, and client 2 gets the same lock: two holders, as Redis replicates behind
//! the back of those who write. The database refuses the older one's write all the same, for its token is smaller.
//!
//! Run it with `cargo run --bin failover --features failover`: it starts two Redis servers, three Sentinels and a proxy
//! between the servers, with what Leasehold's own tests are made of. It needs a `redis-server` on the `PATH`.
//!
//! Try: `--synced`. A grant then counts only when a replica has acknowledged it, and client 1 is told that none has.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example talks to its reader"
)]

mod orders;

use std::process::ExitCode;
use std::time::Duration;

use leasehold::backend::redis::Redis;
use leasehold::{LockGuard, LockManager};
use leasehold_examples::{BoxError, Chain, ended, usage};
use leasehold_testkit::servers::SentinelRedis;
use lexopt::prelude::Long;

use crate::orders::Orders;

const USAGE: &str = "\
failover            two hold the lock; the fence refuses the older one's write
failover --synced   a lock counts when a replica has it";

/// Far longer than a failover takes: it is not the lease that ends.
const TTL: Duration = Duration::from_secs(60);

#[tokio::main]
async fn main() -> ExitCode {
    match synced(lexopt::Parser::from_env()) {
        Ok(synced) => ended(fail_over(synced).await),
        Err(mistake) => usage(&mistake, USAGE),
    }
}

fn synced(mut words: lexopt::Parser) -> Result<bool, lexopt::Error> {
    let mut synced = false;
    while let Some(word) = words.next()? {
        match word {
            Long("synced") => synced = true,
            other => return Err(other.unexpected()),
        }
    }
    Ok(synced)
}

async fn fail_over(synced: bool) -> Result<(), BoxError> {
    println!("Starting two servers and three Sentinels …");
    let servers = SentinelRedis::start().await?;
    let url = format!("redis+sentinel://{}/{}", servers.hosts(), servers.name());
    let orders = Orders::open().await?;

    println!("The link to the replica hangs.");
    servers.servers().hold();
    let one = match lock(&url, synced).await {
        Ok(guard) => Some(guard),
        Err(error) if synced => {
            println!("Client 1 is refused: {}", Chain(&error));
            None
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(guard) = &one {
        println!("Client 1 holds the lock, token {}.", guard.token());
    }

    println!("The primary dies, and the replica takes its place …");
    servers.servers().primary().kill();
    servers.until_failed_over().await?;
    // A new primary has no replica that could acknowledge anything.
    let two = lock(&url, false).await?;
    println!("Client 2 holds the lock, token {}.", two.token());
    orders.set("shipped by client 2", two.token()).await?;

    if let Some(one) = one {
        println!("Both are valid: {} and {}.", one.is_valid(), two.is_valid());
        match orders.set("shipped by client 1", one.token()).await {
            Err(leasehold_sqlx::Error::Stale(stale)) => println!("Client 1's write: {stale}."),
            Ok(()) => return Err("the older holder's write went through".into()),
            Err(error) => return Err(error.into()),
        }
    }
    println!("The order is {:?}.", orders.state().await?);
    Ok(())
}

/// A holder who stands still: nothing renews its lock, and so nothing tells it.
async fn lock(url: &str, synced: bool) -> Result<LockGuard, leasehold::Error> {
    let redis = match synced {
        true => Redis::builder().synced(1, Duration::from_millis(200)),
        false => Redis::builder(),
    };
    let locks = LockManager::new(redis.connect(url).await?);
    let lock = locks.lock("order:42").ttl(TTL).without_renewal();
    Ok(lock.wait(Duration::from_secs(5)).acquire().await?)
}
