//! Caches rewritten statements.

use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::dialect::Dialect;
use super::plan::Plan;
use super::refusal::Refusal;
use super::{Rewritten, plan, rewrite};

/// The expected number of statements in a program.
const STATEMENTS: usize = 1024;
/// The maximum total size of the cached texts, in bytes.
const BYTES: u64 = 8 * 1024 * 1024;

static CACHE: LazyLock<Cache<Key, Arc<Rewritten>, Weight>> =
    LazyLock::new(|| Cache::with_weighter(STATEMENTS, BYTES, Weight));
/// The statements of fenced pools, in which other kinds of statements are allowed.
static PLANS: LazyLock<Cache<Key, Plan, Weight>> =
    LazyLock::new(|| Cache::with_weighter(STATEMENTS, BYTES, Weight));

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    dialect: Dialect,
    column: String,
    target: Option<String>,
    sql: String,
}

/// A statement to rewrite.
#[derive(Debug, Clone, Copy, Hash)]
pub(crate) struct Asked<'a> {
    pub(crate) dialect: Dialect,
    pub(crate) column: &'a str,
    /// The written table, if the user has named it.
    pub(crate) target: Option<&'a str>,
    pub(crate) sql: &'a str,
    /// Whether the values were bound already. A value cannot be added between them, or removed.
    pub(crate) is_bound: bool,
}

impl Asked<'_> {
    fn key(&self) -> Key {
        Key {
            dialect: self.dialect,
            column: self.column.to_owned(),
            target: self.target.map(str::to_owned),
            sql: self.sql.to_owned(),
        }
    }
}

impl Equivalent<Key> for Asked<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.sql == key.sql
            && self.dialect == key.dialect
            && self.column == key.column
            && self.target == key.target.as_deref()
    }
}

#[derive(Debug, Clone, Copy)]
struct Weight;

impl Weighter<Key, Arc<Rewritten>> for Weight {
    fn weight(&self, key: &Key, rewritten: &Arc<Rewritten>) -> u64 {
        (key.sql.len() + rewritten.bytes()) as u64
    }
}

impl Weighter<Key, Plan> for Weight {
    fn weight(&self, key: &Key, plan: &Plan) -> u64 {
        let texts = match plan {
            Plan::Write(rewritten) => key.sql.len() + rewritten.bytes(),
            Plan::Read | Plan::LockingRead => key.sql.len(),
        };
        texts as u64
    }
}

/// Returns a statement with its fence, from the cache if possible. Refusals are not cached.
pub(crate) fn rewritten(asked: Asked<'_>) -> Result<Arc<Rewritten>, Refusal> {
    if let Some(found) = CACHE.get(&asked) {
        return Ok(found);
    }
    let new = Arc::new(rewrite(asked)?);
    CACHE.insert(asked.key(), Arc::clone(&new));
    Ok(new)
}

/// Returns how a fenced pool executes a statement, from the cache if possible. Refusals are not cached.
pub(crate) fn planned(asked: Asked<'_>) -> Result<Plan, Refusal> {
    if let Some(found) = PLANS.get(&asked) {
        return Ok(found);
    }
    let new = plan::plan(asked)?;
    PLANS.insert(asked.key(), new.clone());
    Ok(new)
}
