//! One Redis behind a proxy.

use std::sync::atomic::{AtomicI64, Ordering};

use async_trait::async_trait;
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use tokio::time::sleep;

use super::contract::{Deployment, OUTAGE};
use super::locks::Locks;
use super::{link, traces};
use crate::BoxError;
use crate::fault::Fault;

/// How far a clock jumps. It only jumps forward, because data from before a jump back would last longer than the test.
const JUMP: i64 = 31;

/// A Redis server with its own clock, behind a proxy. It is also used as one of several nodes.
pub(super) struct One {
    server: RedisServer,
    proxy: Proxy,
    clock: ClockShim,
    ahead: AtomicI64,
    /// The keys that may stay on the server for a while.
    brief: &'static [&'static str],
}

impl One {
    /// Starts a server that writes to disk before it replies.
    pub(super) async fn start() -> Result<Self, BoxError> {
        let server = RedisServer::builder().keeps_data();
        Self::with(server, traces::BRIEF).await
    }

    /// Starts one of several nodes, which does not persist data.
    pub(super) async fn of_several() -> Result<Self, BoxError> {
        Self::with(RedisServer::builder(), traces::BRIEF_IF_MISSED).await
    }

    async fn with(server: RedisBuilder, brief: &'static [&'static str]) -> Result<Self, BoxError> {
        let clock = ClockShim::off_by(0)?;
        let server = server.wearing(&clock).start().await?;
        Ok(Self {
            proxy: Proxy::start(server.port()).await?,
            server,
            clock,
            ahead: AtomicI64::new(0),
            brief,
        })
    }

    /// Returns the address, such as `127.0.0.1:37123`.
    pub(super) fn host(&self) -> String {
        format!("127.0.0.1:{}", self.proxy.port())
    }
}

#[async_trait(?Send)]
impl Deployment for One {
    fn locks(&self) -> Locks {
        Locks::Redis(format!("redis://{}", self.host()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        if link::strike(&self.proxy, fault, chance).await? {
            return Ok(());
        }
        match fault {
            Fault::ServerPause => {
                self.server.pause()?;
                sleep(OUTAGE).await;
                self.server.resume()?;
            }
            Fault::ServerRestart => self.server.restart().await?,
            Fault::ServerForgets => self.server.restart_empty().await?,
            Fault::ServerClock => {
                let ahead = self.ahead.fetch_add(JUMP, Ordering::Relaxed) + JUMP;
                self.clock.set(ahead)?;
            }
            other => return Err(format!("one Redis knows no `{other}`").into()),
        }
        Ok(())
    }

    async fn traces(&self) -> Result<Vec<String>, BoxError> {
        traces::of(&self.server, self.brief).await
    }
}
