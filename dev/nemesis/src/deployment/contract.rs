//! What every deployment can do.

use std::time::Duration;

use async_trait::async_trait;

use super::locks::Locks;
use crate::BoxError;
use crate::fault::Fault;

/// How long what is stopped or cut stays so: longer than leases and sessions last.
pub const OUTAGE: Duration = Duration::from_millis(2_200);

/// The servers of a deployment, and how faults are done to them.
#[async_trait(?Send)]
pub trait Deployment {
    /// How clients reach it.
    fn locks(&self) -> Locks;

    /// Strikes once, and makes good again: what was killed is back when this returns.
    ///
    /// # Errors
    ///
    /// If a server does not come back, or the fault is none of its [`Kind`](super::Kind)'s.
    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError>;

    /// What locks have left in the servers that is not to stay.
    ///
    /// # Errors
    ///
    /// If a server does not answer.
    async fn traces(&self) -> Result<Vec<String>, BoxError>;
}
