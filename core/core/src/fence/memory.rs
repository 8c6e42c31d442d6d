//! A fence store inside one process.

use std::collections::HashMap;

use async_trait::async_trait;
use parking_lot::Mutex;

use super::FenceStore;
use crate::FencingToken;
use crate::{AdmitError, Stale};

/// A [`FenceStore`] for a resource that exists only inside this process.
///
/// The store keeps one entry per resource until the store is dropped. A restart loses all entries: if the resource
/// outlives the process, use a persistent store.
#[derive(Debug, Default)]
pub struct InProcessFenceStore {
    newest: Mutex<HashMap<String, FencingToken>>,
}

impl InProcessFenceStore {
    /// Creates an empty store.
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
