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

/// By how much a clock jumps. It only goes ahead: what was granted before a jump back would outlive us.
const JUMP: i64 = 31;

/// A Redis server that wears a clock of its own, behind a proxy. One of several nodes is such a one, too.
pub(super) struct One {
    server: RedisServer,
    proxy: Proxy,
    clock: ClockShim,
    ahead: AtomicI64,
    /// What may stay on it for a while.
    brief: &'static [&'static str],
}

impl One {
    /// One that writes to disk before it answers.
    pub(super) async fn start() -> Result<Self, BoxError> {
        let server = RedisServer::builder().keeps_data();
        Self::with(server, traces::BRIEF).await
    }

    /// One of several, which keeps nothing.
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

    /// `127.0.0.1:37123`
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
