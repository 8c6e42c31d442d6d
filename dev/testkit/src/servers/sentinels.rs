//! Three Sentinels that monitor a primary.

use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};

use super::error::ServerError;
use super::replicated::ReplicatedRedis;
use super::sentinel::{CALM, NAME, SentinelServer};
use crate::resp::Value;

const COUNT: usize = 3;
/// The timeout until the Sentinels have found each other and a replica that can be promoted.
const PATIENCE: Duration = Duration::from_secs(120);
/// The time after which a failover is requested again. It usually takes two seconds. If each Sentinel has voted for
/// itself, they would pause for minutes.
const ELECTION: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);
/// The time after which the Sentinels replace a primary that a test has broken.
const BROKEN: Duration = Duration::from_millis(500);

/// Three Sentinels with the two servers that they monitor. They replace a primary that does not reply for half a
/// second, if a test waits for that. Otherwise they would do so for a primary that a busy machine does not run. The
/// whole failover takes two seconds.
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct SentinelRedis {
    sentinels: Vec<SentinelServer>,
    pair: ReplicatedRedis,
}

impl SentinelRedis {
    /// Starts all servers, and waits until the Sentinels know each other.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`ReplicatedRedis::start`].
    pub async fn start() -> Result<Self, ServerError> {
        Self::over(ReplicatedRedis::start().await?, None).await
    }

    /// Like [`start`](Self::start), with a password for the servers and another one for the Sentinels.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`start`](Self::start).
    pub async fn start_with_passwords(servers: &str, sentinels: &str) -> Result<Self, ServerError> {
        let pair = ReplicatedRedis::start_with_password(servers).await?;
        Self::over(pair, Some((servers, sentinels))).await
    }

    async fn over(
        pair: ReplicatedRedis,
        passwords: Option<(&str, &str)>,
    ) -> Result<Self, ServerError> {
        let mut sentinels = Vec::new();
        for _ in 0..COUNT {
            let sentinel = SentinelServer::start(pair.primary().port(), passwords).await?;
            sentinels.push(sentinel);
        }
        let all = Self { sentinels, pair };
        all.until("the Sentinels know each other", async || {
            let mut ready = 0;
            for sentinel in &all.sentinels {
                ready += usize::from(sentinel.knows(COUNT - 1, 1).await?);
            }
            Ok(ready == COUNT)
        })
        .await?;
        Ok(all)
    }

    /// Returns the name of the primary at the Sentinels.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// Returns the Sentinels.
    pub fn sentinels(&self) -> &[SentinelServer] {
        &self.sentinels
    }

    /// Returns the servers that they monitor.
    pub fn servers(&self) -> &ReplicatedRedis {
        &self.pair
    }

    /// Returns the addresses of the Sentinels: `127.0.0.1:37123,127.0.0.1:37124,…`
    #[must_use]
    pub fn hosts(&self) -> String {
        let hosts = self.sentinels.iter();
        let hosts: Vec<_> = hosts.map(|it| format!("127.0.0.1:{}", it.port())).collect();
        hosts.join(",")
    }

    /// Waits until the Sentinels have replaced an unresponsive primary by its replica, or have completed a failover
    /// that was requested.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::NotSo`] after two minutes.
    pub async fn until_failed_over(&self) -> Result<(), ServerError> {
        let begin = Instant::now();
        let mut pushes = 1;
        let is_broken = !self.primary_replies().await;
        if is_broken {
            self.down_after(&BROKEN.as_millis().to_string()).await?;
        }
        let port = self.pair.replica().port();
        self.until("the replica has been promoted", async || {
            // During a failover the Sentinel refuses the request. It gives up a failover after ten seconds.
            if begin.elapsed() > ELECTION * pushes {
                pushes += 1;
                self.sentinels[0].fail_over().await?;
            }
            let mut agreed = 0;
            for sentinel in &self.sentinels {
                agreed += usize::from(sentinel.primary().await? == Some(port));
            }
            let mut promoted = self.pair.replica().client().await?;
            let role = promoted.command(["ROLE"]).await?;
            let is_primary = role.items().first().and_then(Value::text) == Some("master");
            Ok(agreed == COUNT && is_primary)
        })
        .await?;
        if is_broken {
            self.down_after(CALM).await?;
        }
        self.pair.swap();
        Ok(())
    }

    async fn primary_replies(&self) -> bool {
        let ping = async {
            let mut primary = self.pair.primary().client().await?;
            Ok::<_, ServerError>(primary.command(["PING"]).await?)
        };
        matches!(timeout(BROKEN, ping).await, Ok(Ok(_)))
    }

    async fn down_after(&self, millis: &str) -> Result<(), ServerError> {
        for sentinel in &self.sentinels {
            sentinel.down_after(millis).await?;
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let sentinels = self.sentinels.iter().map(|it| it.last_words());
        sentinels.collect::<Vec<_>>().join("\n\n")
    }

    async fn until(
        &self,
        what: &str,
        mut so: impl AsyncFnMut() -> Result<bool, ServerError>,
    ) -> Result<(), ServerError> {
        let begin = Instant::now();
        loop {
            match so().await {
                Ok(true) => return Ok(()),
                // A server disconnects its clients when it changes its role.
                Ok(false) | Err(ServerError::Client(_)) => {}
                Err(error) => return Err(error),
            }
            if begin.elapsed() > PATIENCE {
                return Err(ServerError::NotSo {
                    what: what.to_owned(),
                    waited: begin.elapsed(),
                    log: self.last_words(),
                });
            }
            sleep(PAUSE).await;
        }
    }
}
