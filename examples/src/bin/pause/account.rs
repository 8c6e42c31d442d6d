//! The data that the lock protects: an account in an `SQLite` file.

use std::path::Path;

use leasehold::FencingToken;
use leasehold_sqlx::{Error, Fence, ddl};
use sqlx::sqlite::{Sqlite, SqliteConnectOptions, SqlitePool};
use sqlx::{Executor, query, query_scalar};

pub(crate) const FIRST_BALANCE: i64 = 100;
/// The resource of the fence.
const RESOURCE: &str = "account:1";

#[derive(Debug)]
pub(crate) struct Account {
    db: SqlitePool,
    fenced: bool,
}

impl Account {
    pub(crate) async fn open(file: &Path, fenced: bool) -> Result<Self, Error> {
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true);
        let db = SqlitePool::connect_with(options).await?;
        Ok(Self { db, fenced })
    }

    /// Creates the account, with its first balance.
    pub(crate) async fn create(&self) -> Result<(), Error> {
        ddl::create_fences(&self.db).await?;
        self.db
            .execute("CREATE TABLE account (balance INTEGER NOT NULL)")
            .await?;
        let first = query("INSERT INTO account VALUES (?)").bind(FIRST_BALANCE);
        first.execute(&self.db).await?;
        Ok(())
    }

    /// Reads the balance before a write. With a fence, older holders are refused from this point on, so none of them
    /// can write between this read and the next write.
    pub(crate) async fn read(&self, token: FencingToken) -> Result<i64, Error> {
        if !self.fenced {
            return Ok(self.balance().await?);
        }
        let mut tx = Fence::new(token).begin(&self.db, RESOURCE).await?;
        let balance = balance(&mut *tx).await?;
        tx.commit().await?;
        Ok(balance)
    }

    /// Writes the balance. With a fence, fails if a newer holder has read or written.
    pub(crate) async fn write(&self, token: FencingToken, balance: i64) -> Result<(), Error> {
        let write = query("UPDATE account SET balance = ?").bind(balance);
        if !self.fenced {
            write.execute(&self.db).await?;
            return Ok(());
        }
        let mut tx = Fence::new(token).begin(&self.db, RESOURCE).await?;
        write.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(())
    }

    pub(crate) async fn balance(&self) -> sqlx::Result<i64> {
        balance(&self.db).await
    }
}

async fn balance<'c>(at: impl Executor<'c, Database = Sqlite>) -> sqlx::Result<i64> {
    query_scalar("SELECT balance FROM account")
        .fetch_one(at)
        .await
}
