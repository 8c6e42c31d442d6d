//! Three Sentinels that watch over a primary.

use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::error::ServerError;
use super::replicated::ReplicatedRedis;
use super::sentinel::{NAME, SentinelServer};
use crate::resp::Value;

const COUNT: usize = 3;
/// How long they may take to find each other, and to find a replica that can be promoted.
const PATIENCE: Duration = Duration::from_secs(30);
/// They are done in two seconds, unless each has voted for itself: then they would pause for minutes.
const ELECTION: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(10);

/// Three Sentinels, and the two servers they watch over. A primary that does not answer for half a second is
/// replaced, in two seconds altogether.
#[derive(Debug)]
#[must_use = "the servers are killed when this is dropped"]
pub struct SentinelRedis {
    sentinels: Vec<SentinelServer>,
    pair: ReplicatedRedis,
}

impl SentinelRedis {
    /// Starts all of them, and waits until they know each other.
    ///
    /// # Errors
    ///
    /// As of [`ReplicatedRedis::start`].
    pub async fn start() -> Result<Self, ServerError> {
        Self::over(ReplicatedRedis::start().await?, None).await
    }

    /// As [`start`](Self::start), with a password for the servers and another one for the Sentinels.
    ///
    /// # Errors
    ///
    /// As of [`start`](Self::start).
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

    /// The name under which they know the primary.
    #[must_use]
    pub fn name(&self) -> &'static str {
        NAME
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> &[SentinelServer] {
        &self.sentinels
    }

    /// The servers they watch over.
    pub fn servers(&self) -> &ReplicatedRedis {
        &self.pair
    }

    /// Where the Sentinels are: `127.0.0.1:37123,127.0.0.1:37124,…`
    #[must_use]
    pub fn hosts(&self) -> String {
        let hosts = self.sentinels.iter();
        let hosts: Vec<_> = hosts.map(|it| format!("127.0.0.1:{}", it.port())).collect();
        hosts.join(",")
    }

    /// Waits until the Sentinels have put the replica in the place of a primary that does not answer.
    ///
    /// # Errors
    ///
    /// [`ServerError::NotSo`] if they do not within 30 s.
    pub async fn until_failed_over(&self) -> Result<(), ServerError> {
        let begin = Instant::now();
        let mut pushes = 1;
        let port = self.pair.replica().port();
        self.until("the replica has been promoted", async || {
            // One that is still under way refuses, and gives up after ten seconds.
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
        self.pair.swap();
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
                // Whoever changes its part cuts its clients off.
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
