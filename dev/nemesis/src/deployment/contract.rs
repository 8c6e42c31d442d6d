//! The operations of every deployment.

use std::time::Duration;

use async_trait::async_trait;

use super::locks::Locks;
use crate::BoxError;
use crate::fault::Fault;

/// The duration of a stop or a cut, which is longer than leases and sessions.
pub const OUTAGE: Duration = Duration::from_millis(2_200);

/// The servers of a deployment, and the faults that affect them.
#[async_trait(?Send)]
pub trait Deployment {
    /// Returns how clients connect to the deployment.
    fn locks(&self) -> Locks;

    /// Causes one fault and repairs it. Killed servers are running again when this method returns.
    ///
    /// # Errors
    ///
    /// Returns an error if a server does not restart, or if this [`Kind`](super::Kind) does not have the fault.
    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError>;

    /// Returns the data that locks have left on the servers and that must not stay.
    ///
    /// # Errors
    ///
    /// Returns an error if a server does not reply.
    async fn traces(&self) -> Result<Vec<String>, BoxError>;
}
