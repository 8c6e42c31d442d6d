//! The Sentinels that are known, and asking all of them.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::majority_vote::Votes;
use super::primary::Primary;
use super::query::{self, SentinelReply};
use crate::backend::BackendError;
use crate::backend::redis::connection::target::Target;
use crate::backend::redis::error::failure;

/// Those who know where the primary is.
#[derive(Clone)]
pub(crate) struct Sentinels {
    pub(super) targets: Vec<Target>,
    pub(super) name: String,
    /// How to connect to the primary, wherever it is.
    pub(super) server: Target,
    /// Whether they have named a primary before. Then the name is no mistake in the URL: an operator who has the Sentinels
    /// monitor another server removes the name for a moment.
    pub(super) was_known: Arc<AtomicBool>,
}

/// Where they are.
impl fmt::Display for Sentinels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, target) in self.targets.iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{}", target.addr())?;
        }
        Ok(())
    }
}

impl Sentinels {
    /// The primary that a majority of the Sentinels name; where too few answer for that, the one that all of those name.
    pub(crate) async fn primary(&self) -> Result<Primary, BackendError> {
        let ask = |target| query::once(target, &self.name);
        let mut asked: FuturesUnordered<_> = self.targets.iter().map(ask).collect();
        let (mut votes, mut failed) = (Votes::of(self.targets.len()), None);
        // A failover often takes a Sentinel with the primary, and nobody waits for it.
        while votes.elected().is_none()
            && let Some(asked) = asked.next().await
        {
            match asked {
                Ok(primary) => votes.count(primary),
                Err(error) => failed = Some(error),
            }
        }
        match votes.elected_by_those_who_answered() {
            Some(primary) => {
                self.was_known.store(true, Ordering::Relaxed);
                Ok(primary)
            }
            None if votes.are_none() => Err(self.unknown(failed)),
            None => Err(divided(&votes)),
        }
    }

    pub(crate) fn target_of(&self, primary: &Primary) -> Result<Target, BackendError> {
        self.server.at(&primary.host, primary.port).map_err(failure)
    }

    fn unknown(&self, failed: Option<SentinelReply>) -> BackendError {
        match failed {
            Some(SentinelReply::Stranger(error)) => {
                let name = &self.name;
                let unknown = format!("the Sentinels know no primary `{name}`");
                let unknown = match self.was_known.load(Ordering::Relaxed) {
                    true => BackendError::not_applied(format!("{unknown} any more")),
                    false => {
                        BackendError::not_applied(format!("{unknown}; check the URL")).permanent()
                    }
                };
                unknown.with_source(error)
            }
            Some(SentinelReply::Failed(error)) => {
                let told = BackendError::not_applied("no Sentinel says where the primary is");
                told.with_source(error)
            }
            None => BackendError::not_applied("there are no Sentinels to ask").permanent(),
        }
    }
}

fn divided(votes: &Votes) -> BackendError {
    BackendError::not_applied(format!(
        "no majority of the Sentinels names the same primary: a failover is under way, they know it by several names, or \
         one of them cannot be trusted; they name {votes}"
    ))
}
