//! Caches rewritten statements.

use std::sync::LazyLock;

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::dialect::Dialect;
use super::rewrite_error::Refusal;
use super::rewrite_request::Asked;
use super::statement_plan::{self, Plan};

/// The expected number of statements in a program.
const STATEMENTS: usize = 1024;
/// The maximum total size of the cached texts, in bytes.
const BYTES: u64 = 8 * 1024 * 1024;

static CACHE: LazyLock<Cache<Key, Plan, Weight>> =
    LazyLock::new(|| Cache::with_weighter(STATEMENTS, BYTES, Weight));

/// Must have the fields of [`Asked`] in the same order, because both must have the same hash.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    dialect: Dialect,
    column: String,
    target: Option<String>,
    sql: String,
    is_bound: bool,
}

impl Key {
    fn of(asked: Asked<'_>) -> Self {
        Self {
            dialect: asked.dialect,
            column: asked.column.to_owned(),
            target: asked.target.map(str::to_owned),
            sql: asked.sql.to_owned(),
            is_bound: asked.is_bound,
        }
    }
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.sql == key.sql
            && self.dialect == key.dialect
            && self.column == key.column
            && self.target == key.target.as_deref()
            && self.is_bound == key.is_bound
    }
}

#[derive(Debug, Clone, Copy)]
struct Weight;

impl Weighter<Key, Plan> for Weight {
    fn weight(&self, key: &Key, plan: &Plan) -> u64 {
        let bytes = match plan {
            Plan::Write(rewritten) => rewritten.bytes(),
            Plan::Read | Plan::LockingRead => 0,
        };
        (key.sql.len() + bytes) as u64
    }
}

/// Returns how a statement is sent, from the cache if possible. Does not cache refusals.
pub(crate) fn planned(asked: Asked<'_>) -> Result<Plan, Refusal> {
    if let Some(found) = CACHE.get(&asked) {
        return Ok(found);
    }
    let new = statement_plan::plan(asked)?;
    CACHE.insert(Key::of(asked), new.clone());
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planned_statement_is_found_in_the_cache() {
        for column in ["fencing_token", "token"] {
            let asked = |is_bound| Asked {
                dialect: Dialect::Sqlite,
                column,
                target: None,
                sql: "UPDATE cached SET amount = 1 WHERE id = 2",
                is_bound,
            };
            for is_bound in [false, true] {
                assert!(planned(asked(is_bound)).is_ok());
                assert!(CACHE.get(&asked(is_bound)).is_some());
            }
        }
    }
}
