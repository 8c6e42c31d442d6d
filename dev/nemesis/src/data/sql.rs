//! The common code for all databases, which differ only in their types: see `store!`.

use sqlx::Error;

use super::cell::DataCell;
use super::store::{Failure, Side};

/// Returns the id of the row of one side. The rows that are written through a fenced pool are other rows.
pub(super) fn row(cell: DataCell, side: Side, is_pool: bool) -> i64 {
    cell.0 * 4 + i64::from(is_pool) * 2 + i64::from(side == Side::Control)
}

/// Converts the error of an autocommitted statement or of a commit. After an error of the database itself, the change
/// was not made.
pub(super) fn failure(error: &Error) -> Failure {
    match error {
        Error::Database(_) | Error::PoolTimedOut => Failure::Refused,
        _ => Failure::Unknown,
    }
}

/// Converts the error of a fenced statement.
pub(super) fn fenced(error: &leasehold_sqlx::Error) -> Failure {
    match error {
        leasehold_sqlx::Error::Sqlx(error) => failure(error),
        _ => Failure::Refused,
    }
}

/// Converts the error of a step before the commit, which causes a rollback.
pub(super) fn refused<E>(_error: E) -> Failure {
    Failure::Refused
}

/// Converts the error of an autocommitted statement of a fenced pool.
pub(super) fn through_pool(error: Error) -> Failure {
    fenced(&error.into())
}

/// Defines a store in a database: its name, the database, and its statements.
macro_rules! store {
    (
        $Store:ident, $Database:ty,
        schema: $schema:literal,
        rows: $rows:expr,
        read_ledger: $read_ledger:literal,
        write_ledger: $write_ledger:literal,
        read_trail: $read_trail:literal,
        append: $append:literal $(,)?
    ) => {
        pub(super) struct $Store {
            pool: sqlx::Pool<$Database>,
            /// If set, writes without a token, through a fenced pool.
            fenced: Option<FencedPool<$Database>>,
        }

        impl $Store {
            const fn new(pool: sqlx::Pool<$Database>) -> Self {
                Self { pool, fenced: None }
            }

            /// Writes through a fenced pool, to other rows.
            pub(super) fn through_pool(self) -> Self {
                let fenced = Some(FencedPool::new(self.pool.clone()));
                Self { fenced, ..self }
            }

            fn row(&self, cell: DataCell, side: Side) -> i64 {
                sql::row(cell, side, self.fenced.is_some())
            }
        }

        /// Reads, waits for `think`, and writes, like code that does not use locks and tokens. Any error causes a
        /// rollback.
        async fn update<C>(
            connection: &mut C,
            row: i64,
            id: &str,
            think: Duration,
        ) -> Result<Ledger, sqlx::Error>
        where
            C: Send,
            for<'c> &'c mut C: sqlx::Executor<'c, Database = $Database>,
        {
            let read = sqlx::query_as($read_ledger).bind(row);
            let (counter, entries): (i64, String) = read.fetch_one(&mut *connection).await?;
            let read = Ledger::of(counter, &entries);
            sleep(think).await;
            let written = read.clone().with(id);
            let write = sqlx::query($write_ledger);
            let write = write.bind(written.counter).bind(written.text()).bind(row);
            write.execute(&mut *connection).await?;
            Ok(read)
        }

        #[async_trait::async_trait]
        impl super::store::Store for $Store {
            async fn prepare(&self, cell: DataCell) -> Result<(), BoxError> {
                sqlx::raw_sql($schema).execute(&self.pool).await?;
                for table in ["ledgers", "trails"] {
                    ddl::add_column(&self.pool, table).await?;
                }
                ddl::create_fences(&self.pool).await?;
                for side in [Side::Fenced, Side::Control] {
                    for rows in $rows {
                        let row = sqlx::query(rows).bind(self.row(cell, side));
                        row.execute(&self.pool).await?;
                    }
                }
                Ok(())
            }

            async fn ledger(&self, cell: DataCell, side: Side) -> Result<Ledger, BoxError> {
                let read = sqlx::query_as($read_ledger).bind(self.row(cell, side));
                let (counter, entries): (i64, String) = read.fetch_one(&self.pool).await?;
                Ok(Ledger::of(counter, &entries))
            }

            async fn trail(&self, cell: DataCell, side: Side) -> Result<Trail, BoxError> {
                let read = sqlx::query_as($read_trail).bind(self.row(cell, side));
                let (entries,): (String,) = read.fetch_one(&self.pool).await?;
                Ok(Trail::of(&entries))
            }

            async fn change(
                &self,
                cell: DataCell,
                token: FencingToken,
                id: &str,
                think: Duration,
            ) -> Result<Ledger, Failure> {
                let row = self.row(cell, Side::Fenced);
                let committed = if let Some(pool) = &self.fenced {
                    let begin = pool.begin().lock_timeout(LOCK_LIMIT);
                    let mut tx = begin.await.map_err(sql::refused)?;
                    let read = update(&mut *tx, row, id, think).await;
                    let read = read.map_err(sql::refused)?;
                    tx.commit().await.map(|()| read)
                } else {
                    let begin =
                        Fence::new(token).begin(&self.pool, cell.resource(stringify!($Store)));
                    let begin = begin.lock_timeout(LOCK_LIMIT);
                    let mut tx = begin.await.map_err(sql::refused)?;
                    let read = update(&mut *tx, row, id, think).await;
                    let read = read.map_err(sql::refused)?;
                    tx.commit().await.map(|()| read).map_err(Into::into)
                };
                committed.map_err(|error| sql::fenced(&error))
            }

            async fn append(
                &self,
                cell: DataCell,
                token: FencingToken,
                entry: &str,
            ) -> Result<(), Failure> {
                let row = self.row(cell, Side::Fenced);
                if let Some(pool) = &self.fenced {
                    let write = sqlx::query($append).bind(entry).bind(row);
                    let written = write.execute(pool).await;
                    return written.map(drop).map_err(sql::through_pool);
                }
                let write = Fence::new(token).query($append).bind(entry.to_owned());
                let written = write.bind(row).execute(&self.pool).await;
                written.map(drop).map_err(|error| sql::fenced(&error))
            }

            async fn overwrite(&self, cell: DataCell, ledger: &Ledger) -> Result<(), Failure> {
                let write = sqlx::query($write_ledger);
                let write = write.bind(ledger.counter).bind(ledger.text());
                let write = write.bind(self.row(cell, Side::Control));
                let written = write.execute(&self.pool).await;
                written.map(drop).map_err(|error| sql::failure(&error))
            }

            async fn append_freely(&self, cell: DataCell, entry: &str) -> Result<(), Failure> {
                let write = sqlx::query($append).bind(entry);
                let write = write.bind(self.row(cell, Side::Control));
                let written = write.execute(&self.pool).await;
                written.map(drop).map_err(|error| sql::failure(&error))
            }
        }

        use std::time::Duration;

        use leasehold::FencingToken;
        use leasehold_sqlx::{Fence, FencedPool, ddl};
        use tokio::time::sleep;

        use super::cell::DataCell;
        use super::sql;
        use super::store::{Failure, Side};
        use crate::BoxError;
        use crate::judge::{Ledger, Trail};

        /// How long a holder that was stopped inside of its transaction blocks the next holder.
        const LOCK_LIMIT: Duration = Duration::from_secs(1);
    };
}

pub(super) use store;
