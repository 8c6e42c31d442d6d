//! Maps tables to the keys of their locks.

use leasehold_core::{CurrentLock, current_lock, current_locks};

use crate::rewrite::{Dialect, Rewritten};
use crate::{Error, table_and_column_names};

/// The keys of all mapped tables.
#[derive(Debug, Clone, Default)]
pub(super) struct Tables(Vec<Table>);

#[derive(Debug, Clone)]
struct Table {
    /// The schema and the name, as the database compares them.
    path: Vec<String>,
    /// An exact key, or a prefix and `*`.
    pattern: String,
}

impl Tables {
    pub(super) fn add(
        &mut self,
        dialect: Dialect,
        table: &str,
        pattern: &str,
    ) -> Result<(), Error> {
        table_and_column_names::table(dialect, table)?;
        let parts = table_and_column_names::parts(dialect, table)
            .into_iter()
            .flatten();
        let path: Vec<_> = parts
            .map(|(name, is_quoted)| dialect.folded(&name, is_quoted))
            .collect();
        let prefix = pattern.strip_suffix('*').unwrap_or(pattern);
        if prefix.is_empty() || prefix.contains('*') {
            return Err(Error::Name {
                what: "key pattern",
                name: table_and_column_names::shortened(pattern),
                remedy: "write a key, as in `order:42`, or the beginning of keys and one `*`, as in `order:*`",
            });
        }
        if self.0.iter().any(|it| it.path == path) {
            return Err(unclear(table, "it is mapped already; map each table once"));
        }
        let pattern = pattern.to_owned();
        self.0.push(Table { path, pattern });
        Ok(())
    }

    /// Returns the valid lock whose token protects the written table. `claimed` is the lock of the transaction.
    pub(super) fn lock_for(
        &self,
        written: &Rewritten,
        claimed: Option<&CurrentLock>,
    ) -> Result<CurrentLock, Error> {
        let lock = match (self.table(written)?, claimed) {
            (Some(table), _) => table.lock(written, claimed)?,
            (None, Some(claimed)) => claimed.clone(),
            (None, None) => current_lock()?,
        };
        Error::if_lost(lock.end())?;
        Ok(lock)
    }

    /// Finds the mapping of a table. A schema that is missing on one side matches every schema.
    fn table(&self, written: &Rewritten) -> Result<Option<&Table>, Error> {
        let path = &written.path;
        if let Some(exact) = self.0.iter().find(|it| it.path == *path) {
            return Ok(Some(exact));
        }
        let mut matching = self.0.iter().filter(|it| {
            let mut pairs = it.path.iter().rev().zip(path.iter().rev());
            !path.is_empty() && pairs.all(|(one, other)| one == other)
        });
        match (matching.next(), matching.next()) {
            (Some(_), Some(_)) => Err(unclear(
                &written.table,
                "it may be one of several mapped tables; write its schema in the statement",
            )),
            (found, _) => Ok(found),
        }
    }
}

impl Table {
    fn lock(
        &self,
        written: &Rewritten,
        claimed: Option<&CurrentLock>,
    ) -> Result<CurrentLock, Error> {
        let held: Vec<CurrentLock> = claimed
            .cloned()
            .into_iter()
            .chain(current_locks())
            .collect();
        let matches = |key: &str| match self.pattern.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == self.pattern,
        };
        match held.iter().find(|it| matches(it.key())) {
            Some(lock) => Ok(lock.clone()),
            // This returns the error that explains why the task holds no lock.
            None if held.is_empty() => Ok(current_lock()?),
            None => Err(Error::WrongKey {
                table: written.table.clone(),
                pattern: self.pattern.clone(),
                held: held.iter().map(|it| it.key().to_owned()).collect(),
            }),
        }
    }
}

fn unclear(table: &str, remedy: &'static str) -> Error {
    Error::Name {
        what: "table",
        name: table_and_column_names::shortened(table),
        remedy,
    }
}
