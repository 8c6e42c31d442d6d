//! One Redis behind a proxy.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::clock::ClockShim;
use leasehold_testkit::proxy::{ChaosPlan, Direction, Proxy, Traffic};
use leasehold_testkit::servers::{RedisBuilder, RedisServer};
use tokio::time::sleep;

use super::contract::{Deployment, OUTAGE};
use super::locks::Locks;
use super::traces;
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
        Self::with(RedisServer::builder(), traces::BRIEF_ON_NODES).await
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

    async fn during(&self, rule: impl Fn(&Proxy)) {
        rule(&self.proxy);
        sleep(OUTAGE).await;
        // Connections that have lost something stay mute: their clients have to notice.
        self.proxy.pass();
    }
}

#[async_trait(?Send)]
impl Deployment for One {
    fn locks(&self) -> Locks {
        Locks::Redis(format!("redis://{}", self.host()))
    }

    async fn strike(&self, fault: Fault, chance: &mut fastrand::Rng) -> Result<(), BoxError> {
        match fault {
            Fault::LinkCut => {
                self.proxy.refuse().await?;
                self.proxy.cut();
                sleep(Duration::from_millis(chance.u64(50..2_000))).await;
                self.proxy.accept().await?;
            }
            Fault::LinkLosesRequests => {
                self.during(|it| it.set(Direction::ToServer, Traffic::Drop))
                    .await;
            }
            Fault::LinkLosesReplies => {
                self.during(|it| it.set(Direction::ToClient, Traffic::Drop))
                    .await;
            }
            Fault::LinkDelay => {
                let late = Traffic::Delay(Duration::from_millis(chance.u64(20..120)));
                let rule = |it: &Proxy| {
                    it.set(Direction::ToServer, late);
                    it.set(Direction::ToClient, late);
                };
                self.during(rule).await;
            }
            Fault::LinkChaos => {
                let seed = chance.u64(..);
                let plan = ChaosPlan {
                    delay: 0.2,
                    longest_delay: Duration::from_millis(30),
                    lose_reply: 0.02,
                    cut_before: 0.02,
                    cut_after: 0.02,
                    orphan: 0.02,
                };
                self.during(|it| it.chaos(seed, plan)).await;
            }
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
