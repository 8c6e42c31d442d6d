use std::sync::Arc;

use leasehold::FencingToken;
use sqlx::{Acquire, Database};

use super::outcome::{Ask, Found, explain};
use crate::database::{Call, FencedDatabase};
use crate::rewrite::Rewritten;
use crate::{Error, observe};

/// A statement with all of its values.
pub(super) struct Ready<DB: Database> {
    pub(super) rewritten: Arc<Rewritten>,
    pub(super) token: FencingToken,
    pub(super) values: DB::Arguments,
    pub(super) probed: DB::Arguments,
    pub(super) expected: Option<u64>,
    pub(super) persistent: bool,
}

impl<DB: FencedDatabase> Ready<DB> {
    /// Sends it, finds out what became of it, and reads the answer.
    pub(super) async fn run<'c, A, T, R>(
        self,
        at: A,
        ask: Ask<DB, T>,
        read: impl FnOnce(T) -> Result<R, sqlx::Error> + Send,
    ) -> Result<R, Error>
    where
        A: Acquire<'c, Database = DB> + Send,
        T: Send,
        R: Send,
    {
        let Some(expected) = self.expected else {
            let mut connection = at.acquire().await?;
            let answer = self.send(&mut connection, ask, None).await?;
            return Ok(read(answer)?);
        };
        let mut tx = at.begin().await?;
        let answer = self.send(&mut tx, ask, Some(expected)).await;
        match answer.and_then(|it| Ok(read(it)?)) {
            Ok(answer) => {
                tx.commit().await?;
                Ok(answer)
            }
            Err(error) => {
                // What was the error is worth more than what follows from it. A transaction that cannot be rolled
                // back is not committed either.
                drop(tx.rollback().await);
                Err(error)
            }
        }
    }

    async fn send<T: Send>(
        self,
        connection: &mut DB::Connection,
        ask: Ask<DB, T>,
        expected: Option<u64>,
    ) -> Result<T, Error> {
        let call = |sql, values| Call {
            sql,
            values,
            persistent: self.persistent,
        };
        let sent = call(self.rewritten.sql.clone(), self.values);
        let answer = (ask.send)(connection, sent).await?;
        let written = (ask.rows)(&answer);
        // That nothing was written may be because of a newer token, even where nothing is what was expected.
        let as_expected = written > 0 && expected.is_none_or(|it| it == written);
        if !as_expected {
            let probe = call(self.rewritten.probe.clone(), self.probed);
            let (stale, newest) =
                DB::probe(connection, probe, self.rewritten.confirmed.clone()).await?;
            let found = Found { stale, newest };
            explain(&self.rewritten.table, self.token, written, expected, &found)?;
        }
        observe::written(&self.rewritten.table, written);
        Ok(answer)
    }
}
