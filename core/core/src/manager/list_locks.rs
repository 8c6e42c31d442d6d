//! A list of the locks that are held, read page by page.

use std::fmt;
use std::sync::Arc;
use std::vec;

use crate::backend::{Inspection, ListCursor};
use crate::engine::{Engine, bounded};
use crate::{Error, InvalidKey, Key, Operation};

/// The locks that are held. [`LockManager::list`](crate::LockManager::list) returns a `LockList`.
#[must_use = "a list requests nothing until `next`"]
pub struct LockList {
    engine: Arc<Engine>,
    /// The manager's prefix followed by the caller's prefix.
    prefix: String,
    /// The length of the manager's prefix.
    manager_prefix: usize,
    page: vec::IntoIter<(String, Inspection)>,
    next: NextPage,
}

enum NextPage {
    At(Option<ListCursor>),
    None,
}

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedLock {
    /// The key, without the manager's prefix.
    pub key: String,
    /// The holders and the number of waiters.
    pub state: Inspection,
}

impl LockList {
    pub(super) fn new(engine: &Arc<Engine>, manager_prefix: &str, prefix: &str) -> Self {
        Self {
            engine: Arc::clone(engine),
            prefix: [manager_prefix, prefix].concat(),
            manager_prefix: manager_prefix.len(),
            page: Vec::new().into_iter(),
            next: NextPage::At(None),
        }
    }

    /// Returns the next lock, or `None` at the end of the list.
    ///
    /// # Errors
    ///
    /// - [`Error::Backend`] if the backend does not respond. The next call requests the same page again.
    /// - [`Error::Unsupported`] if the backend does not support lists.
    /// - [`Error::Key`] if no key can have this prefix.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped, the next call requests the same page again.
    pub async fn next(&mut self) -> Result<Option<ListedLock>, Error> {
        loop {
            if let Some((key, state)) = self.page.next() {
                let key = key.get(self.manager_prefix..).unwrap_or_default();
                let key = key.to_owned();
                return Ok(Some(ListedLock { key, state }));
            }
            let NextPage::At(cursor) = &self.next else {
                return Ok(None);
            };
            let operation = Operation::List;
            let backend = self.engine.backend();
            if !backend.capabilities().list {
                let (key, what) = (self.pattern()?, "lists of locks");
                return Err(Error::Unsupported {
                    operation,
                    key,
                    what,
                });
            }
            let key = self.pattern()?;
            let page = backend.list(&self.prefix, cursor.as_ref());
            let page = bounded(self.engine.limits.command, page).await;
            let page = page.map_err(|source| Error::backend(operation, key, source))?;
            self.page = page.locks.into_iter();
            self.next = match page.next {
                None => NextPage::None,
                next => NextPage::At(next),
            };
        }
    }

    /// Returns the prefix with an asterisk, for errors.
    fn pattern(&self) -> Result<Key, InvalidKey> {
        let (prefix, name) = self.prefix.split_at(self.manager_prefix);
        Key::new(prefix, &format!("{name}*"))
    }
}

impl fmt::Debug for LockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockList")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}
