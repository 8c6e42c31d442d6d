use std::fmt;
use std::sync::Arc;

use http::request::Parts;

use super::KeyExtractor;
use crate::{Problem, ProblemKind};

/// The default limit for the key of a request, in bytes.
pub const DEFAULT_MAX_KEY_BYTES: usize = 256;

/// An extractor with a limit for the length of its keys.
pub(crate) struct Keyed<K> {
    extractor: Arc<K>,
    pub(crate) max_bytes: usize,
}

impl<K: KeyExtractor> Keyed<K> {
    pub(crate) fn new(extractor: K) -> Self {
        Self {
            extractor: Arc::new(extractor),
            max_bytes: DEFAULT_MAX_KEY_BYTES,
        }
    }

    pub(crate) fn of(&self, request: &mut Parts) -> Result<Option<String>, Problem> {
        match self.extractor.key(request)? {
            Some(key) if key.len() > self.max_bytes => {
                let (bytes, most) = (key.len(), self.max_bytes);
                let detail = format!("the key has {bytes} bytes, at most {most} are allowed");
                Err(Problem::new(ProblemKind::InvalidKey).with_detail(detail))
            }
            key => Ok(key),
        }
    }
}

impl<K> Clone for Keyed<K> {
    fn clone(&self) -> Self {
        Self {
            extractor: Arc::clone(&self.extractor),
            max_bytes: self.max_bytes,
        }
    }
}

impl<K> fmt::Debug for Keyed<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyed")
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}
