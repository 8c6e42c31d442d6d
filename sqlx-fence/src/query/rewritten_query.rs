use std::sync::Arc;

use futures_util::TryStreamExt;
use leasehold_core::FencingToken;
use sqlx::{Arguments, Database, SqlStr};

use super::rollback_scope::Scope;
use super::write_outcome::{Answers, Found, explain, written};
use crate::database::{Call, FencedDatabase};
use crate::rewrite::Rewritten;
use crate::{Error, events_and_metrics};

/// A statement with all of its values.
pub(crate) struct Ready<DB: Database> {
    pub(super) rewritten: Arc<Rewritten>,
    pub(super) token: FencingToken,
    pub(super) values: DB::Arguments,
    pub(super) probed: DB::Arguments,
    pub(super) expected: Option<u64>,
    pub(super) persistent: bool,
}

impl<DB: FencedDatabase> Ready<DB> {
    /// Adds the token to a statement whose values are already bound.
    pub(crate) fn of_bound(
        rewritten: &Arc<Rewritten>,
        token: FencingToken,
        mut call: Call<DB>,
    ) -> Result<Self, Error> {
        let mut values = call.values.take().unwrap_or_default();
        let (expected, given) = (rewritten.values, values.len());
        if expected != given {
            return Err(Error::Binds { expected, given });
        }
        let mut probed = values.clone();
        if !rewritten.uses_variable {
            for _ in 0..rewritten.interleaved.len().max(1) {
                DB::add(&mut values, token.get())?;
            }
            DB::add(&mut probed, token.get())?;
        }
        Ok(Self {
            rewritten: Arc::clone(rewritten),
            token,
            values,
            probed,
            expected: None,
            persistent: call.persistent,
        })
    }

    /// Sends a statement of [`of_bound`](Self::of_bound) as [`run`](Self::run) does, and first sets the variable of the
    /// session if the statement uses it. `variable` is the token that the variable certainly has.
    pub(crate) async fn run_bound(
        self,
        connection: &mut DB::Connection,
        variable: &mut Option<FencingToken>,
    ) -> Result<Answers<DB>, Error> {
        if self.rewritten.uses_variable && *variable != Some(self.token) {
            // If this call is dropped or fails, the value is unknown.
            *variable = None;
            let set = Call {
                sql: Rewritten::set_variable(self.token),
                values: None,
                persistent: false,
            };
            DB::optional(connection, set).await?;
            *variable = Some(self.token);
        }
        self.run(connection, Ok).await
    }

    /// Sends the statement, checks the number of written rows, and decodes the result.
    pub(crate) async fn run<R: Send>(
        mut self,
        connection: &mut DB::Connection,
        read: impl FnOnce(Answers<DB>) -> Result<R, sqlx::Error> + Send,
    ) -> Result<R, Error> {
        let rewritten = Arc::clone(&self.rewritten);
        let values = std::mem::take(&mut self.values);
        let sent = self.call(rewritten.sql.clone(), values);
        let Some(expected) = self.expected else {
            let answers = DB::many(connection, sent).try_collect().await?;
            let written = written::<DB>(&answers, rewritten.returns_rows);
            if written == 0 {
                self.explain(connection, written).await?;
            }
            events_and_metrics::written(&rewritten.table, written);
            return Ok(read(answers)?);
        };
        let mut scope = Scope::<DB>::begin(connection).await?;
        let sent = DB::many(scope.connection(), sent).try_collect().await;
        let answers = match sent {
            Ok(answers) => answers,
            Err(error) => return Err(undone(scope, error).await),
        };
        let written = written::<DB>(&answers, rewritten.returns_rows);
        if written != expected {
            // Roll back before the probe, because the condition may depend on the written rows.
            scope.undo().await?;
            let explained = self.explain(connection, written).await;
            let applied = written;
            return Err(explained
                .err()
                .unwrap_or(Error::NotFound { expected, applied }));
        }
        // Even if the caller expects no row, a newer token may be the reason why the statement wrote no row.
        if written == 0
            && let Err(error) = self.explain(scope.connection(), written).await
        {
            return Err(undone(scope, error).await);
        }
        match read(answers) {
            Ok(answer) => {
                scope.keep().await?;
                events_and_metrics::written(&rewritten.table, written);
                Ok(answer)
            }
            Err(error) => Err(undone(scope, error).await),
        }
    }

    /// Probes for rows with newer tokens: see [`explain`].
    async fn explain(mut self, connection: &mut DB::Connection, written: u64) -> Result<(), Error> {
        let Some(probe) = self.rewritten.probe.clone() else {
            return Ok(());
        };
        let probed = std::mem::take(&mut self.probed);
        let probe = self.call(probe, probed);
        let confirmed = self.rewritten.confirmed.clone();
        let (stale, newest) = DB::probe(connection, probe, confirmed).await?;
        let found = Found { stale, newest };
        let table = &self.rewritten.table;
        explain(table, self.token, written, self.expected, &found)
    }

    const fn call(&self, sql: SqlStr, values: DB::Arguments) -> Call<DB> {
        Call {
            sql,
            values: Some(values),
            persistent: self.persistent,
        }
    }
}

/// Rolls back and returns the original error. Ignores an error of the rollback, because the transaction is then not
/// committed either.
async fn undone<DB: FencedDatabase>(scope: Scope<'_, DB>, error: impl Into<Error>) -> Error {
    drop(scope.undo().await);
    error.into()
}
