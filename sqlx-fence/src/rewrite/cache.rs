//! Caches rewritten statements.

use std::sync::LazyLock;

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::asked::Asked;
use super::dialect::Dialect;
use super::plan::{self, Plan};
use super::refusal::Refusal;

/// The expected number of statements in a program.
const STATEMENTS: usize = 1024;
/// The maximum total size of the cached texts, in bytes.
const BYTES: u64 = 8 * 1024 * 1024;

static CACHE: LazyLock<Cache<Key, Plan, Weight>> =
    LazyLock::new(|| Cache::with_weighter(STATEMENTS, BYTES, Weight));

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    dialect: Dialect,
    column: String,
    target: Option<String>,
    sql: String,
    is_bound: bool,
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
    let new = plan::plan(asked)?;
    let key = Key {
        dialect: asked.dialect,
        column: asked.column.to_owned(),
        target: asked.target.map(str::to_owned),
        sql: asked.sql.to_owned(),
        is_bound: asked.is_bound,
    };
    CACHE.insert(key, new.clone());
    Ok(new)
}
