//! The values that backends keep in this process for one attempt.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// One value of each type that a backend chooses. An attempt, its copies and its claims share the values, which live as
/// long as they do.
#[derive(Default)]
pub(super) struct AttemptState(OnceLock<Arc<Values>>);

/// Usually one backend stores one value. A backend that wraps another one may have a value of its own.
#[derive(Default)]
struct Values {
    first: OnceLock<Arc<dyn Any + Send + Sync>>,
    others: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl AttemptState {
    pub(super) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value of this type, which the first call creates.
    pub(super) fn get<T: Any + Send + Sync>(&self, new: impl Fn() -> T) -> Arc<T> {
        let values = self.0.get_or_init(Arc::default);
        let first = values.first.get_or_init(|| Arc::new(new()));
        if let Ok(first) = Arc::clone(first).downcast() {
            return first;
        }
        let mut others = values.others.lock().unwrap_or_else(PoisonError::into_inner);
        let known = others.iter().find_map(|it| Arc::clone(it).downcast().ok());
        known.unwrap_or_else(|| {
            let value = Arc::new(new());
            others.push(value.clone());
            value
        })
    }

    /// Returns the values for a claim. If there are none yet, the claim does not share later ones. So a backend without
    /// state allocates nothing.
    pub(super) fn of_claim(&self) -> Self {
        Self(self.0.clone())
    }
}

impl Clone for AttemptState {
    fn clone(&self) -> Self {
        let values = Arc::clone(self.0.get_or_init(Arc::default));
        Self(OnceLock::from(values))
    }
}

impl fmt::Debug for AttemptState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AttemptState(..)")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn copies_share_the_value_of_each_type_that_is_set_before_or_after() {
        let state = AttemptState::new();
        let early = state.clone();
        state.get(AtomicU32::default).store(7, Ordering::Relaxed);
        let late = state.clone();
        assert_eq!(*early.get(|| "one".to_owned()), "one");
        for copy in [&state, &early, &late, &state.of_claim()] {
            assert_eq!(copy.get(AtomicU32::default).load(Ordering::Relaxed), 7);
            assert_eq!(*copy.get(|| "two".to_owned()), "one");
        }
    }
}
