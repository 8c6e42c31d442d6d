//! Maps tables to the keys of their locks.

use leasehold::{CurrentLock, current_lock, current_locks};

use crate::rewrite::{Dialect, Rewritten};
use crate::{Error, name};

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
        name::table(dialect, table)?;
        let path: Vec<_> = name::parts(dialect, table).into_iter().flatten().collect();
        let path: Vec<_> = path
            .iter()
            .map(|it| dialect.folded(&it.name, it.is_quoted))
            .collect();
        let refused = |what, name: &str, remedy| {
            Err(Error::Name {
                what,
                name: name::shortened(name),
                remedy,
            })
        };
        let prefix = pattern.strip_suffix('*').unwrap_or(pattern);
        if prefix.is_empty() || prefix.contains('*') {
            let remedy = "write a key, as in `order:42`, or the beginning of keys and one `*`, as in `order:*`";
            return refused("key pattern", pattern, remedy);
        }
        if self.0.iter().any(|it| it.path == path) {
            return refused("table", table, "it is mapped already; map each table once");
        }
        self.0.push(Table {
            path,
            pattern: pattern.to_owned(),
        });
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
        lock.check().map_err(leasehold::Error::from)?;
        Ok(lock)
    }

    /// Finds the mapping of a table. A schema that is missing on one side matches every schema.
    fn table(&self, written: &Rewritten) -> Result<Option<&Table>, Error> {
        let path = &written.path;
        let is_same = |it: &&Table| {
            let pairs = it.path.iter().rev().zip(path.iter().rev());
            !path.is_empty() && pairs.into_iter().all(|(one, other)| one == other)
        };
        let mut matching = self.0.iter().filter(is_same);
        let exact = self.0.iter().find(|it| it.path == *path);
        match (exact, matching.next(), matching.next()) {
            (Some(exact), ..) => Ok(Some(exact)),
            (None, Some(_), Some(_)) => Err(Error::Name {
                what: "table",
                name: name::shortened(&written.table),
                remedy: "it may be one of several mapped tables; write its schema in the statement",
            }),
            (None, found, _) => Ok(found),
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
        if let Some(lock) = held.iter().find(|it| self.is_for(it.key())) {
            return Ok(lock.clone());
        }
        if held.is_empty() {
            // The error says why.
            current_lock()?;
        }
        Err(Error::WrongKey {
            table: written.table.clone(),
            pattern: self.pattern.clone(),
            held: held.iter().map(|it| it.key().to_owned()).collect(),
        })
    }

    fn is_for(&self, key: &str) -> bool {
        match self.pattern.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == self.pattern,
        }
    }
}
