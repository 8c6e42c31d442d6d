use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use leasehold_testkit::proxy::{Direction, Proxy, Traffic, Which};
use leasehold_testkit::resp::RawClient;
use leasehold_testkit::servers::RedisServer;
use tokio::time::sleep;

use super::tally::Tally;
use crate::BoxError;

/// The key of [`Load::hold_long`](super::load::Load::hold_long). A fault force-releases it.
pub(super) const LONG: &str = "long";

/// The duration of a fault.
const LASTS: Duration = Duration::from_millis(300);

/// Causes one fault after another, without end.
pub(super) async fn faults(
    server: &RedisServer,
    proxy: &Proxy,
    every: Duration,
    tally: &Arc<Tally>,
    mut chance: Rng,
) -> Result<(), BoxError> {
    let mut raw = server.client().await?;
    loop {
        sleep(every).await;
        tally.faults();
        fault(chance.u32(..6), server, proxy, &mut raw).await?;
    }
}

async fn fault(
    number: u32,
    server: &RedisServer,
    proxy: &Proxy,
    raw: &mut RawClient,
) -> Result<(), BoxError> {
    match number {
        0 => proxy.cut(),
        1 => proxy.lose_replies(Which::named("EVALSHA").times(3)),
        2 => {
            proxy.set(Direction::ToClient, Traffic::Drop);
            sleep(LASTS).await;
            proxy.set(Direction::ToClient, Traffic::Pass);
        }
        3 => {
            proxy.set(Direction::ToServer, Traffic::Delay(LASTS / 10));
            sleep(LASTS).await;
            proxy.set(Direction::ToServer, Traffic::Pass);
        }
        4 => {
            server.pause()?;
            sleep(LASTS).await;
            server.resume()?;
        }
        _ => {
            raw.command(["DEL", &format!("lock:{LONG}")]).await?;
        }
    }
    Ok(())
}
