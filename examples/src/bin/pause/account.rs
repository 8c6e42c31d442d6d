//! The data that the lock protects: an account in an `SQLite` file.

use std::path::Path;

use async_trait::async_trait;
use leasehold_sqlx::{Error, FencedPool, ddl};
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{Executor, query, query_scalar};

use crate::client;

pub(crate) const FIRST_BALANCE: i64 = 100;

/// The account, with a plain pool or a fenced one.
#[async_trait]
pub(crate) trait Account: Send + Sync {
    async fn read(&self) -> Result<i64, Error>;
    async fn write(&self, balance: i64) -> Result<(), Error>;
}

/// The code is the same with both pools. With [`FencedPool`], `begin` claims the account for the lock that the task
/// holds: from then on, the database refuses older holders.
macro_rules! account {
    ($pool:ty) => {
        #[async_trait]
        impl Account for $pool {
            async fn read(&self) -> Result<i64, Error> {
                let mut tx = self.begin().await?;
                let balance = query_scalar("SELECT balance FROM account");
                let balance = balance.fetch_one(&mut *tx).await?;
                tx.commit().await?;
                Ok(balance)
            }

            async fn write(&self, balance: i64) -> Result<(), Error> {
                let mut tx = self.begin().await?;
                let write = query("UPDATE account SET balance = ?").bind(balance);
                write.execute(&mut *tx).await?;
                tx.commit().await?;
                Ok(())
            }
        }
    };
}

account!(SqlitePool);
account!(FencedPool<Sqlite>);

/// Creates the account, with its first balance.
pub(crate) async fn create(file: &Path) -> Result<SqlitePool, Error> {
    let options = SqliteConnectOptions::new().filename(file);
    let db = SqlitePool::connect_with(options.create_if_missing(true)).await?;
    prepare(&db).await?;
    Ok(db)
}

/// Creates the tables, and the account with its first balance.
pub(crate) async fn prepare(db: &SqlitePool) -> Result<(), Error> {
    db.execute("CREATE TABLE account (balance INTEGER NOT NULL)")
        .await?;
    ddl::add_column(db, "account").await?;
    ddl::create_fences(db).await?;
    let first = query("INSERT INTO account (balance) VALUES (?)").bind(FIRST_BALANCE);
    first.execute(db).await?;
    Ok(())
}

/// Opens the account. If `stops`, the process is stopped when the pool hands out its connection for the second time:
/// after [`FencedPool`] has checked the lock, and before the write is sent.
pub(crate) fn open(file: &Path, fenced: bool, stops: bool) -> Box<dyn Account> {
    let pool = SqlitePoolOptions::new().max_connections(1);
    // sqlx does not call this for a new connection.
    let pool = pool.before_acquire(move |_, _| {
        Box::pin(async move {
            if stops {
                client::stop()?;
            }
            Ok(true)
        })
    });
    let pool = pool.connect_lazy_with(SqliteConnectOptions::new().filename(file));
    match fenced {
        true => Box::new(FencedPool::new(pool)),
        false => Box::new(pool),
    }
}
