//! Locks within one process.

use async_trait::async_trait;

use super::contract::Deployment;
use super::locks::Locks;
use crate::BoxError;
use crate::fault::Fault;

pub(super) struct InProcess;

#[async_trait(?Send)]
impl Deployment for InProcess {
    fn locks(&self) -> Locks {
        Locks::InProcess
    }

    async fn strike(&self, fault: Fault, _chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        Err(format!("there is no server for `{fault}`").into())
    }

    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        Ok(Vec::new())
    }
}
