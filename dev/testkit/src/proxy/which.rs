//! Which requests a fault is for.

use std::fmt;
use std::sync::Arc;

use crate::resp::Command;

type Filter = Arc<dyn Fn(&Command) -> bool + Send + Sync>;

/// The requests that a fault hits.
#[derive(Clone)]
#[must_use = "it does nothing until a proxy gets it"]
pub struct Which {
    filter: Option<Filter>,
    /// How many are still to be hit, `None` being all.
    left: Option<u64>,
}

impl Which {
    /// All of them.
    pub fn every() -> Self {
        Self {
            filter: None,
            left: None,
        }
    }

    /// The next few, whatever they are.
    pub fn next(number: u64) -> Self {
        Self::every().times(number)
    }

    /// Those of one name, in any case: `EVALSHA`.
    pub fn named(name: &str) -> Self {
        let name = name.to_owned();
        Self::matching(move |command| command.is(&name))
    }

    /// Those with one word like this: a key, or the hash of a script.
    pub fn mentioning(word: impl AsRef<[u8]>) -> Self {
        let word = word.as_ref().to_vec();
        Self::matching(move |command| command.mentions(&word))
    }

    /// Those that a function picks. It must not call the proxy.
    pub fn matching(filter: impl Fn(&Command) -> bool + Send + Sync + 'static) -> Self {
        Self {
            filter: Some(Arc::new(filter)),
            left: None,
        }
    }

    /// Only the next few of them.
    pub fn times(mut self, number: u64) -> Self {
        self.left = Some(number);
        self
    }

    /// Whether this request is to be hit; if so, it counts.
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
