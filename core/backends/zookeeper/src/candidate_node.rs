//! The candidate node of a key. Of all attempts without a turn, only its owner has a node in the queue. So an attempt
//! that stops responding delays others only if it was about to acquire the lock.

use zookeeper_client::Error;

use super::attempt_registry::{NodeLocation, RegisteredAttempt};
use super::node_names::candidate;
use super::session::Session;
use super::watch_budget::BudgetedWatch;
use leasehold_core::AttemptId;

/// The largest number of checks that one attempt makes without a pause, while the nodes keep changing.
pub(super) const LOOKS: usize = 16;

/// Creates the candidate node for an attempt. Returns a watch on the node if another attempt owns it.
pub(super) async fn claim(
    session: &Session,
    entry: &RegisteredAttempt,
    container: &str,
) -> Result<Option<BudgetedWatch>, Error> {
    let (path, owner) = (candidate(container), entry.owner.reveal());
    for _ in 0..LOOKS {
        if let Some((data, watch)) = session.watched_data(&path).await? {
            return Ok((data != owner.as_bytes()).then_some(watch));
        }
        // If the creation has no reply, the cleanup must look for the node.
        entry.facts.lock().at = NodeLocation::Unknown;
        if session
            .create_ephemeral(container, &path, owner.as_bytes())
            .await?
        {
            return Ok(None);
        }
        entry.facts.lock().at = NodeLocation::Nowhere;
    }
    Ok(Some(BudgetedWatch::unacknowledged()))
}

/// Deletes the candidate node if this attempt owns it.
pub(super) async fn give_up(
    session: &Session,
    container: &str,
    owner: AttemptId,
) -> Result<(), Error> {
    let path = candidate(container);
    let data = session.data(&path).await?;
    if data.is_some_and(|(data, ..)| data == owner.reveal().as_bytes()) {
        session.delete(&path).await?;
    }
    Ok(())
}
