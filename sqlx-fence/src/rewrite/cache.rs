//! Caches rewritten statements.

use std::sync::{Arc, LazyLock};

use quick_cache::sync::Cache;
use quick_cache::{Equivalent, Weighter};

use super::dialect::Dialect;
use super::refusal::Refusal;
use super::{Rewritten, rewrite};

/// The expected number of statements in a program.
const STATEMENTS: usize = 1024;
/// The maximum total size of the cached texts, in bytes.
const BYTES: u64 = 8 * 1024 * 1024;

static CACHE: LazyLock<Cache<Key, Arc<Rewritten>, Weight>> =
    LazyLock::new(|| Cache::with_weighter(STATEMENTS, BYTES, Weight));

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    dialect: Dialect,
    column: String,
    target: Option<String>,
    sql: String,
}

#[derive(Debug, Clone, Copy, Hash)]
struct Asked<'a> {
    dialect: Dialect,
    column: &'a str,
    target: Option<&'a str>,
    sql: &'a str,
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
        let texts = key.sql.len() + rewritten.sql.as_str().len() + rewritten.probe.as_str().len();
        texts as u64
    }
}

/// Returns a statement with its fence, from the cache if possible. Refusals are not cached.
pub(crate) fn rewritten(
    dialect: Dialect,
    column: &str,
    target: Option<&str>,
    sql: &str,
) -> Result<Arc<Rewritten>, Refusal> {
    let asked = Asked {
        dialect,
        column,
        target,
        sql,
    };
    if let Some(found) = CACHE.get(&asked) {
        return Ok(found);
    }
    let new = Arc::new(rewrite(dialect, column, target, sql)?);
    let key = Key {
        dialect,
        column: column.to_owned(),
        target: target.map(str::to_owned),
        sql: sql.to_owned(),
    };
    CACHE.insert(key, Arc::clone(&new));
    Ok(new)
}
