//! A failover that loses a lock, and a fence that protects the data.
//!
//! Client 1 acquires a lock. The link to the replica hangs, so only the primary has the lock when the primary is
//! killed. The Sentinels make the replica the new primary, and client 2 gets the same lock. There are now two holders,
//! because Redis replicates asynchronously. The database still refuses the write of the older holder, because its token
//! is smaller.
//!
//! Run it with `cargo run --bin failover --features failover`. It starts two Redis servers, three Sentinels and a proxy
//! between the servers, with Leasehold's test kit. It needs a `redis-server` on the `PATH`.
//!
//! Try: `--synced`. A lock is then granted only after a replica has acknowledged it, so client 1 gets an error.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example prints its results"
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
failover            two clients hold the lock; the fence refuses the older one's write
failover --synced   grant a lock only after a replica has acknowledged it";

/// Much longer than a failover, so that the lease does not expire.
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

    println!("The primary is killed, and the replica becomes the primary …");
    servers.servers().primary().kill();
    servers.until_failed_over().await?;
    // The new primary does not have a replica that could acknowledge a lock.
    let two = lock(&url, false).await?;
    println!("Client 2 holds the lock, token {}.", two.token());
    orders.set("shipped by client 2", two.token()).await?;

    if let Some(one) = one {
        println!("Both are valid: {} and {}.", one.is_valid(), two.is_valid());
        match orders.set("shipped by client 1", one.token()).await {
            Err(leasehold_sqlx::Error::Stale(stale)) => println!("Client 1's write: {stale}."),
            Ok(()) => return Err("the write of the older holder was not refused".into()),
            Err(error) => return Err(error.into()),
        }
    }
    println!("The order is {:?}.", orders.state().await?);
    Ok(())
}

/// Acquires the lock without renewal, so that the holder does not notice the loss.
async fn lock(url: &str, synced: bool) -> Result<LockGuard, leasehold::Error> {
    let redis = match synced {
        true => Redis::builder().synced(1, Duration::from_millis(200)),
        false => Redis::builder(),
    };
    let locks = LockManager::new(redis.connect(url).await?);
    let lock = locks.lock("order:42").ttl(TTL).without_renewal();
    lock.wait(Duration::from_secs(5)).acquire().await
}
