//! Selects the requests of a fault.

use std::fmt;
use std::sync::Arc;

use crate::resp::Command;

type Filter = Arc<dyn Fn(&Command) -> bool + Send + Sync>;

/// The requests that a fault affects.
#[derive(Clone)]
#[must_use = "it does nothing until a proxy gets it"]
pub struct Which {
    filter: Option<Filter>,
    /// The remaining number of affected requests, or `None` for all.
    left: Option<u64>,
}

impl Which {
    /// Selects all requests.
    pub fn every() -> Self {
        Self {
            filter: None,
            left: None,
        }
    }

    /// Selects the next `number` requests.
    pub fn next(number: u64) -> Self {
        Self::every().times(number)
    }

    /// Selects requests by their name, in any case: `EVALSHA`.
    pub fn named(name: &str) -> Self {
        let name = name.to_owned();
        Self::matching(move |command| command.is(&name))
    }

    /// Selects requests that contain this word: a key, or the hash of a script.
    pub fn mentioning(word: impl AsRef<[u8]>) -> Self {
        let word = word.as_ref().to_vec();
        Self::matching(move |command| command.mentions(&word))
    }

    /// Selects the requests for which a function returns `true`. The function must not call the proxy.
    pub fn matching(filter: impl Fn(&Command) -> bool + Send + Sync + 'static) -> Self {
        Self {
            filter: Some(Arc::new(filter)),
            left: None,
        }
    }

    /// Selects only the next `number` of them.
    pub fn times(mut self, number: u64) -> Self {
        self.left = Some(number);
        self
    }

    /// Returns whether this request is selected, and counts it if it is.
    pub(super) fn take(&mut self, command: &Command) -> bool {
        let hit = !self.is_used_up() && self.filter.as_ref().is_none_or(|filter| filter(command));
        if let (true, Some(left)) = (hit, &mut self.left) {
            *left -= 1;
        }
        hit
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.left == Some(0)
    }
}

impl fmt::Debug for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Which")
            .field("filtered", &self.filter.is_some())
            .field("left", &self.left)
            .finish()
    }
}
