//! What a backend keeps in this process for one attempt.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// One value of a type that the backend chooses. An attempt, its copies and its claims share the value, so it lives as
/// long as they do.
#[derive(Clone, Default)]
pub(super) struct AttemptState(OnceLock<Arc<dyn Any + Send + Sync>>);

impl AttemptState {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value, which the first call creates. Returns a separate new value if the first call had another type.
    pub(super) fn get<T: Any + Send + Sync>(&self, new: impl Fn() -> T) -> Arc<T> {
        let kept = Arc::clone(self.0.get_or_init(|| Arc::new(new())));
        kept.downcast().unwrap_or_else(|_other| Arc::new(new()))
    }
}

impl fmt::Debug for AttemptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttemptState(..)")
    }
}
