//! Decides what a fenced pool or transaction does with a statement, before it sends anything.

use leasehold::CurrentLock;
use sqlx::{Database, SqlStr};

use super::tables::Tables;
use crate::database::{Call, FencedDatabase};
use crate::query::Ready;
use crate::rewrite::{Asked, Plan, planned};
use crate::{DEFAULT_COLUMN, Error};

/// The settings of a fenced pool.
#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) column: String,
    pub(super) tables: Tables,
}

/// What is sent for a statement.
pub(super) enum Step<DB: Database> {
    Read(Call<DB>),
    Write(Ready<DB>, CurrentLock),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            column: DEFAULT_COLUMN.to_owned(),
            tables: Tables::default(),
        }
    }
}

impl Settings {
    /// Returns the next step, or the reason why nothing is sent. `claimed` is the lock of the transaction.
    pub(super) fn step<DB: FencedDatabase>(
        &self,
        call: Call<DB>,
        claimed: Option<&CurrentLock>,
    ) -> Result<Step<DB>, Error> {
        let written = match self.plan::<DB>(&call.sql)? {
            Plan::Write(written) => written,
            Plan::LockingRead if claimed.is_none() => return Err(unlocked(&call.sql)),
            Plan::Read | Plan::LockingRead => return Ok(Step::Read(call)),
        };
        let lock = self.tables.lock_for(&written, claimed)?;
        Ok(Step::Write(
            Ready::of_bound(&written, lock.token(), call)?,
            lock,
        ))
    }

    /// Refuses a statement that cannot be executed.
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

fn unlocked(sql: &SqlStr) -> Error {
    Error::Rewrite {
        position: crate::Position::of(sql.as_str(), 0),
        problem: "a single statement releases the locks of its rows immediately".to_owned(),
        remedy: "read in `pool.begin()`".to_owned(),
    }
}
