//! The faults of a link between clients and a server.

use std::time::Duration;

use leasehold_testkit::proxy::{ChaosPlan, Direction, Proxy, Traffic};
use tokio::time::sleep;

use super::contract::OUTAGE;
use crate::BoxError;
use crate::fault::Fault;

/// Causes one fault of a link. Returns whether the fault is a fault of links. Connections that have lost data stay
/// silent, and their clients must notice it.
pub(super) async fn strike(
    link: &Proxy,
    fault: Fault,
    chance: &mut fastrand::Rng,
) -> Result<bool, BoxError> {
    match fault {
        Fault::LinkCut => {
            link.refuse().await?;
            link.cut();
            sleep(Duration::from_millis(chance.u64(50..2_000))).await;
            link.accept().await?;
            return Ok(true);
        }
        Fault::LinkLosesRequests => link.set(Direction::ToServer, Traffic::Drop),
        Fault::LinkLosesReplies => link.set(Direction::ToClient, Traffic::Drop),
        Fault::LinkDelay => {
            let late = Traffic::Delay(Duration::from_millis(chance.u64(20..120)));
            // In one direction, in the other, or in both.
            let ways = chance.u8(1..4);
            if ways & 1 > 0 {
                link.set(Direction::ToServer, late);
            }
            if ways & 2 > 0 {
                link.set(Direction::ToClient, late);
            }
        }
        Fault::LinkChaos => {
            let plan = ChaosPlan {
                delay: 0.2,
                longest_delay: Duration::from_millis(30),
                lose_reply: 0.02,
                cut_before: 0.02,
                cut_after: 0.02,
                orphan: 0.02,
            };
            link.chaos(chance.u64(..), plan);
        }
        _ => return Ok(false),
    }
    sleep(OUTAGE).await;
    link.pass();
    Ok(true)
}
