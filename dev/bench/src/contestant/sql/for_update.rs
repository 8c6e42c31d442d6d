use sqlx::{Executor, MySql, MySqlPool, PgPool, Postgres, Transaction};

use crate::BoxError;
use crate::contestant::Contestant;

/// A row lock by hand: the transaction stays open while the lock is held. It does not have a lease or a token, and each
/// holder and each waiter occupies a connection.
#[derive(Debug, Clone)]
pub(crate) enum ForUpdate {
    Postgres(PgPool),
    MariaDb(MySqlPool),
}

pub(crate) enum Held {
    Postgres(Transaction<'static, Postgres>),
    MariaDb(Transaction<'static, MySql>),
}

/// Begins a transaction and locks a row, which it inserts first if it does not exist. It commits the insert explicitly: if
/// an earlier call was dropped while it began a transaction, sqlx 0.9 keeps that transaction open on its connection.
macro_rules! lock_row {
    ($pool:expr, $key:expr, select: $select:literal, insert: $insert:literal $(,)?) => {
        loop {
            let mut transaction = $pool.begin().await?;
            let select = sqlx::query($select).bind($key);
            if select.fetch_optional(&mut *transaction).await?.is_some() {
                break transaction;
            }
            transaction.rollback().await?;
            let mut insertion = $pool.begin().await?;
            let insert = sqlx::query($insert).bind($key);
            insert.execute(&mut *insertion).await?;
            insertion.commit().await?;
        }
    };
}

impl ForUpdate {
    pub(crate) async fn create_table(&self) -> Result<(), BoxError> {
        let table = "CREATE TABLE locked_rows (lock_key VARCHAR(255) PRIMARY KEY)";
        match self {
            Self::Postgres(pool) => pool.execute(table).await.map(drop)?,
            Self::MariaDb(pool) => pool.execute(table).await.map(drop)?,
        }
        Ok(())
    }
}

impl Contestant for ForUpdate {
    type Held = Held;

    async fn acquire(&self, key: &str) -> Result<Held, BoxError> {
        Ok(match self {
            Self::Postgres(pool) => Held::Postgres(lock_row!(
                pool,
                key,
                select: "SELECT 1 FROM locked_rows WHERE lock_key = $1 FOR UPDATE",
                insert: "INSERT INTO locked_rows VALUES ($1) ON CONFLICT DO NOTHING",
            )),
            Self::MariaDb(pool) => Held::MariaDb(lock_row!(
                pool,
                key,
                select: "SELECT 1 FROM locked_rows WHERE lock_key = ? FOR UPDATE",
                insert: "INSERT IGNORE INTO locked_rows VALUES (?)",
            )),
        })
    }

    async fn release(&self, held: Held) -> Result<(), BoxError> {
        match held {
            Held::Postgres(transaction) => transaction.commit().await?,
            Held::MariaDb(transaction) => transaction.commit().await?,
        }
        Ok(())
    }
}
