//! Annotated functions with `#[instrument]`, above and below, plain and in an `#[async_trait]`.
#![deny(warnings)]

use async_trait::async_trait;
use leasehold::{Error, LockManager, distributed_lock};
use tracing::instrument;

struct Opaque;

impl Drop for Opaque {
    fn drop(&mut self) {}
}

#[instrument(skip(opaque), fields(double = id * 2), err)]
#[distributed_lock("{id}")]
async fn above(id: u64, opaque: Opaque, _: Opaque) -> Result<u64, Error> {
    drop(opaque);
    Ok(id)
}

#[distributed_lock("{id}")]
#[instrument(skip(opaque), fields(double = id * 2), ret, err)]
async fn below(id: u64, opaque: Opaque, _: Opaque, (a, _): (u8, Opaque)) -> Result<u64, Error> {
    drop(opaque);
    Ok(id + u64::from(a))
}

struct Shop {
    locks: LockManager,
}

#[async_trait]
trait Ships {
    async fn above(&self, id: u64) -> Result<u64, Error>;
    async fn below(&self, id: u64) -> Result<u64, Error>;
}

#[async_trait]
impl Ships for Shop {
    #[instrument(skip_all)]
    #[distributed_lock("{id}", manager = self.locks)]
    async fn above(&self, id: u64) -> Result<u64, Error> {
        if id == 0 {
            return Ok(1);
        }
        Ok(id)
    }

    #[distributed_lock("{id}", manager = self.locks)]
    #[instrument(skip(self))]
    async fn below(&self, id: u64) -> Result<u64, Error> {
        Ok(id)
    }
}

async fn all(shop: Shop) -> Result<(), Error> {
    assert_eq!(above(1, Opaque, Opaque).await?, 1);
    assert_eq!(below(1, Opaque, Opaque, (1, Opaque)).await?, 2);
    assert_eq!(shop.above(3).await?, 3);
    assert_eq!(shop.below(4).await?, 4);
    Ok(())
}

#[tokio::test]
async fn instrumented_functions_compile_and_run() -> Result<(), Error> {
    let locks = LockManager::in_process();
    locks
        .as_default(all(Shop {
            locks: locks.clone(),
        }))
        .await
}
