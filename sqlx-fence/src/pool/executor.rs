//! sqlx's `Executor` for fenced pools and transactions.

use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::{FutureExt, StreamExt, TryFutureExt, stream};
use sqlx::{Describe, Either, Execute, Executor, SqlStr};

use super::FencedPool;
use super::step::Step;
use super::transaction::FencedConnection;
use crate::Error;
use crate::database::{Call, FencedDatabase, Many};
use crate::query::Answers;

/// Returns checked rows as a stream.
fn streamed<DB: FencedDatabase>(answers: Answers<DB>) -> Many<'static, DB> {
    stream::iter(answers.into_iter().map(Ok)).boxed()
}

fn first_row<DB: FencedDatabase>(answers: Answers<DB>) -> Option<DB::Row> {
    answers.into_iter().find_map(Either::right)
}

impl<DB: FencedDatabase> FencedPool<DB> {
    async fn many(self, call: Call<DB>) -> Result<Many<'static, DB>, Error> {
        match self.settings.step(call, None)? {
            Step::Read(call) => Ok(DB::many_of_pool(&self.pool, call)),
            Step::Write(ready, lock) => {
                let mut connection = self.pool.acquire().await?;
                // The wait for a connection may have been longer than the lease.
                lock.check().map_err(leasehold::Error::from)?;
                Ok(streamed::<DB>(ready.answers(&mut connection).await?))
            }
        }
    }

    async fn optional(self, call: Call<DB>) -> Result<Option<DB::Row>, Error> {
        match self.settings.step(call, None)? {
            Step::Read(call) => Ok(DB::optional(&mut *self.pool.acquire().await?, call).await?),
            Step::Write(ready, lock) => {
                let mut connection = self.pool.acquire().await?;
                lock.check().map_err(leasehold::Error::from)?;
                Ok(first_row::<DB>(ready.answers(&mut connection).await?))
            }
        }
    }
}

impl<'p, DB: FencedDatabase> Executor<'p> for &FencedPool<DB> {
    type Database = DB;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<DB::QueryResult, DB::Row>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let (pool, call) = (self.clone(), Call::of(query));
        async move { Ok(pool.many(call?).await?) }
            .try_flatten_stream()
            .boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<DB::Row>, sqlx::Error>>
    where
        'p: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let (pool, call) = (self.clone(), Call::of(query));
        async move { Ok(pool.optional(call?).await?) }.boxed()
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [DB::TypeInfo],
    ) -> BoxFuture<'e, Result<DB::Statement, sqlx::Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        async move {
            pool.settings.plan::<DB>(&sql)?;
            DB::prepare(&mut *pool.pool.acquire().await?, sql, parameters).await
        }
        .boxed()
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<DB>, sqlx::Error>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        async move {
            pool.settings.plan::<DB>(&sql)?;
            DB::describe(&mut *pool.pool.acquire().await?, sql).await
        }
        .boxed()
    }
}

impl<DB: FencedDatabase> FencedConnection<DB> {
    async fn many(&mut self, call: Call<DB>) -> Result<Many<'_, DB>, Error> {
        match self.settings.step(call, Some(&self.lock))? {
            Step::Read(call) => Ok(DB::many(&mut self.tx, call)),
            Step::Write(ready, _) => Ok(streamed::<DB>(ready.answers(&mut self.tx).await?)),
        }
    }

    async fn optional(&mut self, call: Call<DB>) -> Result<Option<DB::Row>, Error> {
        match self.settings.step(call, Some(&self.lock))? {
            Step::Read(call) => Ok(DB::optional(&mut self.tx, call).await?),
            Step::Write(ready, _) => Ok(first_row::<DB>(ready.answers(&mut self.tx).await?)),
        }
    }
}

impl<'c, DB: FencedDatabase> Executor<'c> for &'c mut FencedConnection<DB> {
    type Database = DB;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, Result<Either<DB::QueryResult, DB::Row>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let call = Call::of(query);
        async move { Ok(self.many(call?).await?) }
            .try_flatten_stream()
            .boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxFuture<'e, Result<Option<DB::Row>, sqlx::Error>>
    where
        'c: 'e,
        E: 'q + Execute<'q, DB>,
    {
        let call = Call::of(query);
        async move { Ok(self.optional(call?).await?) }.boxed()
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [DB::TypeInfo],
    ) -> BoxFuture<'e, Result<DB::Statement, sqlx::Error>>
    where
        'c: 'e,
    {
        async move {
            self.settings.plan::<DB>(&sql)?;
            DB::prepare(&mut self.tx, sql, parameters).await
        }
        .boxed()
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, Result<Describe<DB>, sqlx::Error>>
    where
        'c: 'e,
    {
        async move {
            self.settings.plan::<DB>(&sql)?;
            DB::describe(&mut self.tx, sql).await
        }
        .boxed()
    }
}
