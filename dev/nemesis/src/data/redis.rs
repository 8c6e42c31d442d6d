//! Values in Redis, written by fenced pipelines.
//!
//! Data without a fence is written in the same way, but with its own resource and with a constant token, which is never
//! stale.

use std::time::Duration;

use async_trait::async_trait;
use leasehold::backend::Applied;
use leasehold::{FencedPipelineError, FencingToken, RedisFenceStore, RedisReply};
use tokio::time::sleep;

use super::cell::DataCell;
use super::store::{Failure, Side, Store};
use crate::BoxError;
use crate::judge::{Ledger, Trail};

pub(super) struct Redis {
    fences: RedisFenceStore,
    /// The token of writes without a fence.
    free: FencingToken,
}

/// The keys of one side.
struct Keys {
    counter: String,
    entries: String,
    trail: String,
}

impl Redis {
    pub(super) async fn connect(url: &str) -> Result<Self, BoxError> {
        Ok(Self {
            fences: RedisFenceStore::connect(url).await?,
            free: FencingToken::try_from(1)?,
        })
    }

    async fn get(
        &self,
        keys: &Keys,
        resource: String,
        token: FencingToken,
    ) -> Result<Ledger, FencedPipelineError> {
        let read = self.fences.pipeline(resource, token);
        let read = read.cmd("MGET", [&keys.counter, &keys.entries]);
        let replies = read.execute().await?;
        let found = replies.first().map_or(&[][..], RedisReply::items);
        let text = |place: usize| found.get(place).and_then(RedisReply::text);
        let counter = text(0).and_then(|it| it.parse().ok()).unwrap_or_default();
        Ok(Ledger::of(counter, text(1).unwrap_or_default()))
    }

    async fn set(
        &self,
        keys: &Keys,
        resource: String,
        token: FencingToken,
        ledger: &Ledger,
    ) -> Result<(), Failure> {
        let write = self
            .fences
            .pipeline(resource, token)
            .cmd("SET", [&keys.counter, &ledger.counter.to_string()])
            .cmd("SET", [&keys.entries, &ledger.text()]);
        write.execute().await.map(drop).map_err(|it| failure(&it))
    }

    async fn push(
        &self,
        keys: &Keys,
        (resource, shown): (String, FencingToken),
        entry: &str,
    ) -> Result<(), Failure> {
        let write = self.fences.pipeline(resource, shown);
        let write = write.cmd("APPEND", [keys.trail.as_str(), entry]);
        write.execute().await.map(drop).map_err(|it| failure(&it))
    }
}

#[async_trait]
impl Store for Redis {
    async fn prepare(&self, _cell: DataCell) -> Result<(), BoxError> {
        Ok(())
    }

    async fn ledger(&self, cell: DataCell, side: Side) -> Result<Ledger, BoxError> {
        Ok(self.get(&keys(cell, side), free(cell), self.free).await?)
    }

    async fn trail(&self, cell: DataCell, side: Side) -> Result<Trail, BoxError> {
        let read = self.fences.pipeline(free(cell), self.free);
        let replies = read.cmd("GET", [keys(cell, side).trail]).execute().await?;
        let entries = replies.first().and_then(RedisReply::text);
        Ok(Trail::of(entries.unwrap_or_default()))
    }

    async fn change(
        &self,
        cell: DataCell,
        token: FencingToken,
        id: &str,
        think: Duration,
    ) -> Result<Ledger, Failure> {
        let keys = keys(cell, Side::Fenced);
        let read = self.get(&keys, fenced(cell), token).await;
        let read = read.map_err(|_| Failure::Refused)?;
        sleep(think).await;
        let written = read.clone().with(id);
        self.set(&keys, fenced(cell), token, &written).await?;
        Ok(read)
    }

    async fn append(
        &self,
        cell: DataCell,
        token: FencingToken,
        entry: &str,
    ) -> Result<(), Failure> {
        // The trail has its own resource, which was not claimed before.
        let resource = format!("{}:trail", fenced(cell));
        self.push(&keys(cell, Side::Fenced), (resource, token), entry)
            .await
    }

    async fn overwrite(&self, cell: DataCell, ledger: &Ledger) -> Result<(), Failure> {
        let keys = keys(cell, Side::Control);
        self.set(&keys, free(cell), self.free, ledger).await
    }

    async fn append_freely(&self, cell: DataCell, entry: &str) -> Result<(), Failure> {
        let keys = keys(cell, Side::Control);
        self.push(&keys, (free(cell), self.free), entry).await
    }
}

fn keys(cell: DataCell, side: Side) -> Keys {
    let key = |what| format!("data:{}:{side:?}:{what}", cell.0);
    Keys {
        counter: key("counter"),
        entries: key("entries"),
        trail: key("trail"),
    }
}

fn fenced(cell: DataCell) -> String {
    cell.resource("redis")
}

fn free(cell: DataCell) -> String {
    cell.resource("free")
}

fn failure(error: &FencedPipelineError) -> Failure {
    match error {
        FencedPipelineError::Store { applied, .. } if *applied == Applied::Unknown => {
            Failure::Unknown
        }
        _ => Failure::Refused,
    }
}
