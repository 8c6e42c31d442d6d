//! A fence store inside one process.

use std::collections::HashMap;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::{AdmitError, FenceStore, Stale};
use crate::FencingToken;

/// A [`FenceStore`] for a resource that lives and dies with this process.
///
/// It keeps one entry per resource for as long as it lives. A restart forgets: for a resource that outlives the
/// process use a store that does, too.
#[derive(Debug, Default)]
pub struct InProcessFenceStore {
    newest: Mutex<HashMap<String, FencingToken>>,
}

impl InProcessFenceStore {
    /// A store that has seen no token.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn admit_now(&self, resource: &str, token: FencingToken) -> Result<(), Stale> {
        let mut newest = self.newest.lock();
        match newest.get_mut(resource) {
            Some(current) if *current > token => Err(Stale {
                token,
                current: *current,
            }),
            Some(current) => {
                *current = token;
                Ok(())
            }
            None => {
                newest.insert(resource.to_owned(), token);
                Ok(())
            }
        }
    }
}

#[async_trait]
impl FenceStore for InProcessFenceStore {
    async fn admit(&self, resource: &str, token: FencingToken) -> Result<(), AdmitError> {
        Ok(self.admit_now(resource, token)?)
    }
}
