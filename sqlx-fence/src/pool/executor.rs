//! sqlx's `Executor` for fenced pools and transactions.

use std::convert::identity;

use futures_util::{FutureExt, StreamExt, TryFutureExt, stream};
use sqlx::{Describe, Either, Execute, Executor, SqlStr};

use super::FencedPool;
use super::transaction::FencedConnection;
use crate::Error;
use crate::database::{Call, FencedDatabase, Many};
use crate::query::Answers;
use leasehold_sql::catalog::Answer;

impl<DB: FencedDatabase> FencedPool<DB> {
    /// Executes a write. Returns a read unchanged, because the caller sends it.
    async fn write(&self, call: Call<DB>) -> Result<Either<Call<DB>, Answers<DB>>, Error> {
        let (ready, lock) = match self.settings.step(call, None)? {
            Either::Left(read) => return Ok(Either::Left(read)),
            Either::Right(write) => write,
        };
        let mut connection = self.pool.acquire().await?;
        // The wait for a connection may have been longer than the lease.
        Error::if_lost(lock.end())?;
        // Another user of the connection may have set the variable.
        let written = ready.run_bound(&mut connection, &mut None).await?;
        Ok(Either::Right(written))
    }
}

impl<DB: FencedDatabase> FencedConnection<DB> {
    /// Executes a write. Returns a read unchanged, because the caller sends it.
    async fn write(&mut self, call: Call<DB>) -> Result<Either<Call<DB>, Answers<DB>>, Error> {
        match self.settings.step(call, Some(&self.lock))? {
            Either::Left(read) => Ok(Either::Left(read)),
            Either::Right((ready, _)) => {
                let written = ready.run_bound(&mut self.tx, &mut self.variable).await?;
                Ok(Either::Right(written))
            }
        }
    }
}

/// Implements `Executor`. Each future owns the value `$at`, which `$own` creates. `$many` and `$connection` are
/// expressions with `$at`. A future reads the locks of the task when it is polled.
macro_rules! executor {
    ($life:lifetime, $Target:ty, $own:path, |$at:ident, $call:ident| $many:expr, $connection:expr) => {
        impl<$life, DB: FencedDatabase> Executor<$life> for $Target {
            type Database = DB;

            fn fetch_many<'e, 'q: 'e, E>(self, query: E) -> Many<'e, DB>
            where
                $life: 'e,
                E: 'q + Execute<'q, DB>,
            {
                let ($at, call) = ($own(self), Call::of(query));
                let many = async move {
                    Ok(match $at.write(call?).await? {
                        Either::Left($call) => $many,
                        Either::Right(rows) => stream::iter(rows.into_iter().map(Ok)).boxed(),
                    })
                };
                many.try_flatten_stream().boxed()
            }

            fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> Answer<'e, Option<DB::Row>>
            where
                $life: 'e,
                E: 'q + Execute<'q, DB>,
            {
                let ($at, call) = ($own(self), Call::of(query));
                let optional = async move {
                    match $at.write(call?).await? {
                        Either::Left(read) => DB::optional(&mut *$connection, read).await,
                        Either::Right(rows) => Ok(rows.into_iter().find_map(Either::right)),
                    }
                };
                optional.boxed()
            }

            fn prepare_with<'e>(
                self,
                sql: SqlStr,
                types: &'e [DB::TypeInfo],
            ) -> Answer<'e, DB::Statement>
            where
                $life: 'e,
            {
                let $at = $own(self);
                let prepared = async move {
                    $at.settings.plan::<DB>(&sql)?;
                    DB::prepare(&mut *$connection, sql, types).await
                };
                prepared.boxed()
            }

            fn describe<'e>(self, sql: SqlStr) -> Answer<'e, Describe<DB>>
            where
                $life: 'e,
            {
                let $at = $own(self);
                let described = async move {
                    $at.settings.plan::<DB>(&sql)?;
                    DB::describe(&mut *$connection, sql).await
                };
                described.boxed()
            }
        }
    };
}

executor!('p, &'_ FencedPool<DB>, Clone::clone, |at, call| DB::many_of_pool(&at.pool, call), at.pool.acquire().await?);
executor!('c, &'c mut FencedConnection<DB>, identity, |at, call| DB::many(&mut at.tx, call), at.tx);
