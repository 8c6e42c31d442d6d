//! One page of the locks that a backend holds.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use super::Inspection;

/// A part of the locks that are held; see [`Backend::list`](super::Backend::list).
#[derive(Debug)]
#[non_exhaustive]
pub struct ListPage {
    /// The keys, with their prefix, and their states. A page may be empty.
    pub locks: Vec<(String, Inspection)>,
    /// The position of the next page, or `None` after the last page.
    pub next: Option<ListCursor>,
}

impl ListPage {
    /// Creates a page.
    #[must_use]
    pub const fn new(locks: Vec<(String, Inspection)>, next: Option<ListCursor>) -> Self {
        Self { locks, next }
    }
}

/// The position of a page, in the form that the backend needs.
#[derive(Clone)]
pub struct ListCursor(Arc<dyn Any + Send + Sync>);

impl ListCursor {
    /// Creates a position.
    #[must_use]
    pub fn new(position: impl Any + Send + Sync) -> Self {
        Self(Arc::new(position))
    }

    /// Returns the position. Returns `None` if it has another type, because another backend created it.
    #[must_use]
    pub fn position<T: Any>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for ListCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ListCursor(..)")
    }
}
