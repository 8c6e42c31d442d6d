//! What `leasehold_test::chaos` needs of a manager. These items are not public API.

use std::sync::Arc;

use crate::backend::Claim;
use crate::engine::Lease;
pub use crate::lock_creation_site::{LockSites, noting};
use crate::{EndReason, LockManager};

/// A valid lease of a manager.
#[derive(Debug)]
pub struct ValidLease(Arc<Lease>);

impl ValidLease {
    /// Returns the valid leases of a manager, in the order in which they were granted.
    #[must_use]
    pub fn all(locks: &LockManager) -> Vec<Self> {
        let mut leases = locks.engine().watched();
        leases.retain(|it| it.validity().is_ok());
        leases.sort_by_key(|it| it.claim.token.get());
        leases.into_iter().map(Self).collect()
    }

    /// Returns the claim.
    #[must_use]
    pub fn claim(&self) -> &Claim {
        &self.0.claim
    }

    /// Ends the lease in its process, as if it had expired.
    pub fn expire(&self) {
        let _ended = self.0.end(EndReason::Expired);
    }
}
