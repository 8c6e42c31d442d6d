//! Error types, and aliases of `Result`, that compile.
#![deny(warnings)]

use std::error::Error as StdError;

use leasehold::{Error, LockManager, distributed_lock};

#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("sold out")]
    SoldOut,
    #[error(transparent)]
    Lock(#[from] Error),
}

type Shopping<T> = Result<T, ShopError>;

#[distributed_lock("k")]
async fn own() -> Result<(), Error> {
    Ok(())
}

#[distributed_lock("k")]
async fn alias() -> leasehold_result::Result<()> {
    Ok(())
}

mod leasehold_result {
    pub(crate) type Result<T> = std::result::Result<T, leasehold::Error>;
}

#[distributed_lock("k")]
async fn enumeration(sold_out: bool) -> Shopping<u32> {
    if sold_out {
        return Err(ShopError::SoldOut);
    }
    Ok(1)
}

#[distributed_lock("k")]
async fn by_anyhow() -> anyhow::Result<u32> {
    Ok("1".parse()?)
}

#[distributed_lock("k")]
async fn by_eyre() -> eyre::Result<u32> {
    Ok("1".parse()?)
}

#[distributed_lock("k")]
async fn boxed() -> Result<u32, Box<dyn StdError>> {
    Ok("1".parse()?)
}

#[distributed_lock("k")]
async fn boxed_and_sent() -> Result<u32, Box<dyn StdError + Send + Sync>> {
    Ok("1".parse()?)
}

#[distributed_lock("k", contended = "skip")]
async fn skipping() -> anyhow::Result<Option<u32>> {
    Ok(Some("1".parse()?))
}

async fn all() -> Result<(), Box<dyn StdError>> {
    own().await?;
    alias().await?;
    assert!(matches!(enumeration(true).await, Err(ShopError::SoldOut)));
    assert_eq!(enumeration(false).await?, 1);
    assert_eq!(by_anyhow().await?, 1);
    assert_eq!(by_eyre().await?, 1);
    assert_eq!(boxed().await?, 1);
    assert_eq!(boxed_and_sent().await.ok(), Some(1));
    assert_eq!(skipping().await?, Some(1));
    Ok(())
}

#[tokio::test]
async fn error_types_and_result_aliases_compile_and_run() -> Result<(), Box<dyn StdError>> {
    LockManager::in_process().as_default(all()).await
}
