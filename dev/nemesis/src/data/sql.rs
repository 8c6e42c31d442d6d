//! The common code for all databases, which differ only in their types: see `store!`.

use sqlx::Error;

use super::cell::DataCell;
use super::store::{Failure, Side};

/// Returns the id of the row of one side.
pub(super) fn row(cell: DataCell, side: Side) -> i64 {
    cell.0 * 2 + i64::from(side == Side::Control)
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

/// Defines a store in a database: its name, the type of its pool, and its statements.
macro_rules! store {
    (
        $Store:ident, $Pool:ty,
        schema: $schema:literal,
        rows: $rows:expr,
        read_ledger: $read_ledger:literal,
        write_ledger: $write_ledger:literal,
        read_trail: $read_trail:literal,
        append: $append:literal $(,)?
    ) => {
        pub(super) struct $Store($Pool);

        #[async_trait::async_trait]
        impl super::store::Store for $Store {
            async fn prepare(&self, cell: DataCell) -> Result<(), BoxError> {
                sqlx::raw_sql($schema).execute(&self.0).await?;
                ddl::add_column(&self.0, "trails").await?;
                ddl::create_fences(&self.0).await?;
                for side in [Side::Fenced, Side::Control] {
                    for rows in $rows {
                        let row = sqlx::query(rows).bind(sql::row(cell, side));
                        row.execute(&self.0).await?;
                    }
                }
                Ok(())
            }

            async fn ledger(&self, cell: DataCell, side: Side) -> Result<Ledger, BoxError> {
                let read = sqlx::query_as($read_ledger).bind(sql::row(cell, side));
                let (counter, entries): (i64, String) = read.fetch_one(&self.0).await?;
                Ok(Ledger::of(counter, &entries))
            }

            async fn trail(&self, cell: DataCell, side: Side) -> Result<Trail, BoxError> {
                let read = sqlx::query_as($read_trail).bind(sql::row(cell, side));
                let (entries,): (String,) = read.fetch_one(&self.0).await?;
                Ok(Trail::of(&entries))
            }

            async fn change(
                &self,
                cell: DataCell,
                token: FencingToken,
                id: &str,
                think: Duration,
            ) -> Result<Ledger, Failure> {
                let row = sql::row(cell, Side::Fenced);
                let begin = Fence::new(token).begin(&self.0, cell.resource(stringify!($Store)));
                // Any error before the commit causes a rollback.
                let begun = begin.lock_timeout(LOCK_LIMIT).await;
                let mut tx = begun.map_err(|_| Failure::Refused)?;
                let read = sqlx::query_as($read_ledger).bind(row);
                let read: Result<(i64, String), _> = read.fetch_one(&mut *tx).await;
                let (counter, entries) = read.map_err(|_| Failure::Refused)?;
                let read = Ledger::of(counter, &entries);
                sleep(think).await;
                let written = read.clone().with(id);
                let write = sqlx::query($write_ledger);
                let write = write.bind(written.counter).bind(written.text()).bind(row);
                let done = write.execute(&mut *tx).await;
                done.map_err(|_| Failure::Refused)?;
                let committed = tx.commit().await;
                committed.map_err(|error| sql::failure(&error))?;
                Ok(read)
            }

            async fn append(
                &self,
                cell: DataCell,
                token: FencingToken,
                id: &str,
            ) -> Result<(), Failure> {
                let write = Fence::new(token).query($append);
                let write = write.bind(Trail::entry(token.get(), id));
                let write = write.bind(sql::row(cell, Side::Fenced));
                let written = write.execute(&self.0).await;
                written.map(drop).map_err(|error| sql::fenced(&error))
            }

            async fn overwrite(&self, cell: DataCell, ledger: &Ledger) -> Result<(), Failure> {
                let write = sqlx::query($write_ledger);
                let write = write.bind(ledger.counter).bind(ledger.text());
                let written = write.bind(sql::row(cell, Side::Control)).execute(&self.0);
                written
                    .await
                    .map(drop)
                    .map_err(|error| sql::failure(&error))
            }

            async fn append_freely(
                &self,
                cell: DataCell,
                token: FencingToken,
                id: &str,
            ) -> Result<(), Failure> {
                let write = sqlx::query($append).bind(Trail::entry(token.get(), id));
                let written = write.bind(sql::row(cell, Side::Control)).execute(&self.0);
                written
                    .await
                    .map(drop)
                    .map_err(|error| sql::failure(&error))
            }
        }

        use std::time::Duration;

        use leasehold::FencingToken;
        use leasehold_sqlx::{Fence, ddl};
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
