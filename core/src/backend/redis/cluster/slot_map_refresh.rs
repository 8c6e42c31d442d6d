//! Requests the slot map from the members of the Cluster, if it may be stale.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use redis::Value;

use super::Cluster;
use super::slot_map::{NodeAddr, SlotMap, pick_query_nodes};
use crate::backend::BackendError;
use crate::backend::redis::error::outside_a_runtime;
use crate::backend::redis::protocol::reply;
use crate::runtime::{sleep, timeout};

/// The time within which a member must report its slots.
const PATIENCE: Duration = Duration::from_secs(1);

/// The additional time to wait for the other members after the first reply, because they may be more up to date.
const LATE: Duration = Duration::from_millis(100);

impl Cluster {
    /// Refreshes the slot map if it may be stale.
    pub(crate) async fn ensure_fresh(self: &Arc<Self>) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let cluster = Arc::clone(self);
        // This future is boxed, because it is rarely needed.
        Box::pin(
            self.asking
                .join(async move || cluster.refresh_slots().await),
        )
        .await
    }

    async fn refresh_slots(&self) -> Result<(), BackendError> {
        if !self.in_doubt.load(Ordering::Acquire) {
            return Ok(());
        }
        let masters = self.slot_map.lock().masters();
        let places = pick_query_nodes(masters, self.seeds.clone());
        let mut asked: FuturesUnordered<_> = places.iter().map(|place| self.ask(place)).collect();
        let (mut best, mut failed) = (None::<SlotMapReply>, None);
        while let Some(reply) = next(&mut asked, best.is_some()).await {
            match reply {
                Ok(reply) if best.as_ref().is_none_or(|best| reply.rank > best.rank) => {
                    best = Some(reply);
                }
                Ok(_) => {}
                Err(error) => failed = Some(error),
            }
        }
        let Some(reply) = best else {
            let unknown = BackendError::not_applied("no member of the Cluster reported the slots");
            return Err(match failed {
                Some(error) => unknown.because_of(error),
                None => unknown,
            });
        };
        *self.slot_map.lock() = reply.slot_map;
        self.moves.send_modify(|count| *count += 1);
        self.drop_members_without_slots();
        self.in_doubt.store(false, Ordering::Release);
        Ok(())
    }

    async fn ask(&self, place: &NodeAddr) -> Result<SlotMapReply, BackendError> {
        let member = self.member(place)?;
        let mut ask = redis::pipe();
        ask.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
        let unexpected_reply =
            || BackendError::not_applied("unexpected reply of a member of the Cluster");
        let asked =
            timeout(PATIENCE, member.node.call_all(&ask, 2)).ok_or_else(outside_a_runtime)?;
        let answers = asked.await.map_err(|_elapsed| {
            let (host, port) = place;
            let message = format!("{host}:{port} did not reply within {PATIENCE:?}");
            BackendError::not_applied(message)
        })??;
        let [info, slots] = <[_; 2]>::try_from(answers).map_err(|_| unexpected_reply())?;
        let info: String = reply::read(info?)?;
        let slots: Value = slots?;
        let epoch =
            reply::info_field(&info, "cluster_current_epoch").and_then(|it| it.parse().ok());
        Ok(SlotMapReply {
            rank: (
                reply::info_field(&info, "cluster_state") == Some("ok"),
                epoch.unwrap_or(0),
            ),
            slot_map: SlotMap::read(&slots, &member.host).ok_or_else(unexpected_reply)?,
        })
    }
}

/// A member's report of the slots. A member without contact to the other members reports this state, or reports
/// outdated slots.
struct SlotMapReply {
    rank: (bool, u64),
    slot_map: SlotMap,
}

async fn next<T>(asked: &mut (impl StreamExt<Item = T> + Unpin), late: bool) -> Option<T> {
    match late.then(|| sleep(LATE)).flatten() {
        None => asked.next().await,
        Some(late) => tokio::select! {
            reply = asked.next() => reply,
            () = late => None,
        },
    }
}
