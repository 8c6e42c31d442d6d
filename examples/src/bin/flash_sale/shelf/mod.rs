//! The shop's tables, in whichever database.

mod table;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use leasehold_sqlx::Fence;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Connection, Database, MySql, Pool, Postgres, Sqlite};

use self::table::Table;
use crate::error::ShopError;

/// What there is to sell, and who has bought.
#[async_trait]
pub(crate) trait Shelf: fmt::Debug + Send + Sync {
    /// Makes the tables that are not there.
    async fn set_up(&self) -> Result<(), ShopError>;

    /// So much stock, and no orders.
    async fn stock_up(&self, item: i64, stock: i64) -> Result<(), ShopError>;

    async fn count(&self, item: i64) -> Result<Count, ShopError>;

    /// Reads the stock. Under a fence, writes of older holders are refused from here on.
    async fn stock(&self, item: i64, fence: Option<&Fence>) -> Result<i64, ShopError>;

    /// One item fewer, and one order more. Under a fence, only if nobody newer has been there.
    async fn take(&self, item: i64, fence: Option<&Fence>) -> Result<(), ShopError>;
}

/// What an item has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Count {
    pub(crate) stock: i64,
    pub(crate) sold: i64,
}

/// Why there is no shop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(
        "`{scheme}://` is no database of this shop; give postgres://…, mysql://… or sqlite://…"
    )]
    UnknownScheme { scheme: String },
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
}

/// The shelf in the database at `url`.
pub(crate) async fn open(url: &str) -> Result<Box<dyn Shelf>, OpenError> {
    let scheme = url.split_once(':').map_or(url, |(scheme, _)| scheme);
    Ok(match scheme {
        "postgres" | "postgresql" => Box::new(Table::<Postgres>::new(pool(url).await?)),
        "mysql" | "mariadb" => Box::new(Table::<MySql>::new(pool(url).await?)),
        "sqlite" => Box::new(Table::<Sqlite>::new(sqlite(url).await?)),
        _ => {
            // The rest may hold a password.
            let scheme = scheme.chars().take(32).collect();
            return Err(OpenError::UnknownScheme { scheme });
        }
    })
}

/// A pool goes on for half a minute where nobody listens, and does not say why. One connection says it at once.
async fn pool<DB: Database>(url: &str) -> sqlx::Result<Pool<DB>> {
    DB::Connection::connect(url).await?.close().await?;
    Pool::connect(url).await
}

async fn sqlite(url: &str) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    SqlitePool::connect_with(options).await
}
