//! A deal: read, decide, write, with a round trip for each step. The steps are the same with all three methods.

use std::future::Future;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_examples::BoxError;
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Pipeline, RedisResult};
use tokio::time::{Instant, sleep};

use crate::cell::Method;
use crate::keys::{Keys, seller_of};

/// How long a lock stays held after its player was killed.
const TTL: Duration = Duration::from_secs(10);

/// The result of one attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deal {
    /// The deal succeeded, at this price.
    Done(i64),
    /// Another buyer has bought the item.
    Gone,
    /// Data that the deal has read was changed.
    Spoilt,
}

/// The state of a player. It has its own connection, because `WATCH` applies to a connection.
#[derive(Debug)]
pub(crate) struct Stall {
    pub(crate) player: String,
    pub(crate) keys: Keys,
    pub(crate) redis: MultiplexedConnection,
    pub(crate) locks: LockManager,
    pub(crate) method: Method,
    /// How long a buyer waits between reading and buying.
    pub(crate) decision: Duration,
    /// The time after which deals are not retried.
    pub(crate) end: Instant,
}

impl Stall {
    /// Lists an item of this player. Returns the result and the number of retries.
    pub(crate) async fn list(&self, item: &str, price: i64) -> Result<(Deal, i64), BoxError> {
        self.safely(item, || self.list_once(item, price)).await
    }

    /// Buys an offered item. Returns the result and the number of retries.
    pub(crate) async fn purchase(&self, item: &str) -> Result<(Deal, i64), BoxError> {
        self.safely(item, || self.purchase_once(item)).await
    }

    /// Runs a deal with one of the three methods.
    async fn safely<F>(&self, item: &str, deal: impl Fn() -> F) -> Result<(Deal, i64), BoxError>
    where
        F: Future<Output = RedisResult<Deal>>,
    {
        let lock = match self.method {
            Method::Watch => return self.until_unspoilt(deal).await,
            Method::OneLock => self.locks.lock("market"),
            Method::PerItem => self.locks.lock(item),
        };
        let guard = lock.ttl(TTL).acquire().await?;
        let done = guard
            .run(async |_| Ok::<_, leasehold::Error>(deal().await))
            .await??;
        guard.release().await?;
        Ok((done, 0))
    }

    async fn until_unspoilt<F>(&self, deal: impl Fn() -> F) -> Result<(Deal, i64), BoxError>
    where
        F: Future<Output = RedisResult<Deal>>,
    {
        let mut retries = 0;
        loop {
            match deal().await? {
                Deal::Spoilt if Instant::now() < self.end => retries += 1,
                done => return Ok((done, retries)),
            }
        }
    }

    /// Moves an item from the seller's inventory to the market.
    async fn list_once(&self, item: &str, price: i64) -> RedisResult<Deal> {
        let mut redis = self.redis.clone();
        let inventory = self.keys.inventory(&self.player);
        self.watch(&[&inventory]).await?;
        if !redis.sismember(&inventory, item).await? {
            return self.leave().await;
        }
        let mut write = redis::pipe();
        write.atomic();
        write.zadd(self.keys.market(), item, price).ignore();
        write.srem(inventory, item).ignore();
        self.write(&write, price).await
    }

    /// Moves an item from the market to the buyer's inventory, and the money to the seller.
    async fn purchase_once(&self, item: &str) -> RedisResult<Deal> {
        let mut redis = self.redis.clone();
        let (market, purse) = (self.keys.market(), self.keys.purse(&self.player));
        self.watch(&[&market, &purse]).await?;
        let price: Option<i64> = redis.zscore(&market, item).await?;
        let funds: i64 = redis.hget(&purse, "funds").await?;
        let Some(price) = price.filter(|price| *price <= funds) else {
            return self.leave().await;
        };
        if !self.decision.is_zero() {
            sleep(self.decision).await;
        }
        let mut write = redis::pipe();
        write.atomic();
        write.zrem(market, item).ignore();
        write.sadd(self.keys.inventory(&self.player), item).ignore();
        write
            .hincr(self.keys.purse(seller_of(item)), "funds", price)
            .ignore();
        write.hincr(purse, "funds", -price).ignore();
        self.write(&write, price).await
    }

    /// Without a lock, watches the keys: they must not change before the write.
    async fn watch(&self, keys: &[&String]) -> RedisResult<()> {
        if self.method != Method::Watch {
            return Ok(());
        }
        let mut watch = redis::cmd("WATCH");
        watch.arg(keys).query_async(&mut self.redis.clone()).await
    }

    /// Ends a deal without a write, and stops watching the keys.
    async fn leave(&self) -> RedisResult<Deal> {
        if self.method == Method::Watch {
            let unwatch = redis::cmd("UNWATCH");
            let () = unwatch.query_async(&mut self.redis.clone()).await?;
        }
        Ok(Deal::Gone)
    }

    /// Writes everything or nothing. Redis returns nil from `EXEC` if a watched key has changed.
    async fn write(&self, write: &Pipeline, price: i64) -> RedisResult<Deal> {
        let written: Option<()> = write.query_async(&mut self.redis.clone()).await?;
        Ok(match written {
            Some(()) => Deal::Done(price),
            None => Deal::Spoilt,
        })
    }
}
