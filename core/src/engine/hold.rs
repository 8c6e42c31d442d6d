use std::sync::Arc;

use super::{Engine, Lease, ReleaseDebt};

/// Owns a held lock from the very step in which it was granted: dropped, it releases.
#[derive(Debug)]
pub(crate) struct Hold {
    pub(crate) engine: Arc<Engine>,
    pub(crate) lease: Arc<Lease>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        // Released already is well.
        drop(ReleaseDebt::take(&self.engine, &self.lease));
    }
}
