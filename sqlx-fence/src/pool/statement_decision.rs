//! Decides what a fenced pool or transaction does with a statement, before it sends anything.

use std::borrow::Cow;

use leasehold_core::CurrentLock;
use sqlx::{Either, SqlStr};

use super::table_lock_keys::Tables;
use crate::Error;
use crate::database::{Call, FencedDatabase};
use crate::query::Ready;
use crate::rewrite::{Asked, Plan, Refusal, planned};

/// A write with its token, and the lock of the token.
type Write<DB> = (Ready<DB>, CurrentLock);

/// The settings of a fenced pool.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) column: Cow<'static, str>,
    pub(super) tables: Tables,
}

impl Settings {
    /// Returns the read to send, or the write and its lock. Returns an error if the pool must not send the statement.
    /// `claimed` is the lock of the transaction.
    pub(super) fn step<DB: FencedDatabase>(
        &self,
        call: Call<DB>,
        claimed: Option<&CurrentLock>,
    ) -> Result<Either<Call<DB>, Write<DB>>, Error> {
        let written = match self.plan::<DB>(&call.sql)? {
            Plan::Write(written) => written,
            Plan::LockingRead if claimed.is_none() => {
                let problem = "a single statement releases the locks of its rows immediately";
                let refusal = Refusal::new(0, problem, "read in `pool.begin()`");
                return Err(refusal.into_error(call.sql.as_str()));
            }
            Plan::Read | Plan::LockingRead => return Ok(Either::Left(call)),
        };
        let lock = self.tables.lock_for(&written, claimed)?;
        let ready = Ready::of_bound(&written, lock.token(), call)?;
        Ok(Either::Right((ready, lock)))
    }

    /// Returns how to send a statement, or an error if the pool must not send it.
    pub(super) fn plan<DB: FencedDatabase>(&self, sql: &SqlStr) -> Result<Plan, Error> {
        let asked = Asked {
            dialect: DB::DIALECT,
            column: &self.column,
            target: None,
            sql: sql.as_str(),
            is_bound: true,
        };
        planned(asked).map_err(|refusal| refusal.into_error(sql.as_str()))
    }
}
