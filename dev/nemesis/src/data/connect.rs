//! Connects to a store by its name.

use super::store::Store;
use super::{mariadb, postgres, redis, sqlite};
use crate::BoxError;

/// Connects to a store of one of the kinds [`STORES`](super::STORES), at an address.
///
/// # Errors
///
/// Returns an error if the store cannot be reached, or if the kind is unknown.
pub async fn connect(kind: &str, address: &str) -> Result<Box<dyn Store>, BoxError> {
    Ok(match kind {
        "postgres" => Box::new(postgres::Postgres::connect(address).await?),
        "mariadb" => Box::new(mariadb::MariaDb::connect(address).await?),
        "sqlite" => Box::new(sqlite::Sqlite::connect(address).await?),
        "redis" => Box::new(redis::Redis::connect(address).await?),
        "postgres-pool" => Box::new(postgres::Postgres::connect(address).await?.through_pool()),
        "mariadb-pool" => Box::new(mariadb::MariaDb::connect(address).await?.through_pool()),
        "sqlite-pool" => Box::new(sqlite::Sqlite::connect(address).await?.through_pool()),
        other => return Err(format!("no store is called `{other}`").into()),
    })
}
