//! A node that restarted may have forgotten what it granted: it does not vote until the longest
//! lease is over. Two addresses of one server count as one node.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::distinct_nodes::{DistinctNodes, UnfitNode};
use crate::backend::BackendError;
use crate::backend::redis::protocol::reply;
use crate::clock::LeaseInstant;
use crate::named_event::event;

/// Keeps away from a server that is no node of its own, and from one that was restarted a short while ago: it may have
/// forgotten locks that are still held, and tokens that were drawn.
///
/// A server is known by its run id, so that each connection that is made anew shows whether it is still the same.
/// How long it has been up is asked once per run and counted on by this process' own clock: a server counts by the
/// time of day, which can jump.
#[derive(Debug)]
pub(super) struct RestartQuarantine {
    place: usize,
    roster: Arc<DistinctNodes>,
    /// None where servers forget nothing.
    away: Option<Duration>,
    state: Mutex<QuarantineState>,
}

#[derive(Debug, Default)]
struct QuarantineState {
    known: Option<KnownServer>,
    /// Why the server that was met last was kept out, if it was.
    out: Option<NotAdmitted>,
}

#[derive(Debug)]
struct KnownServer {
    run_id: String,
    admitted_from: LeaseInstant,
}

/// Why a server that is there is not asked for locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotAdmitted {
    /// Its time to vote will come.
    TooYoung {
        version: String,
    },
    Unfit(UnfitNode),
}

impl RestartQuarantine {
    /// Admits servers that fit in with the others and have been up for longer than `away`, if that matters.
    pub(super) fn of(place: usize, roster: &Arc<DistinctNodes>, away: Option<Duration>) -> Self {
        Self {
            place,
            roster: Arc::clone(roster),
            away,
            state: Mutex::default(),
        }
    }

    /// Fails if the server behind a new connection is not to be asked for locks, by who it says it is and how old.
    pub(super) fn admit(&self, info: &str) -> Result<(), BackendError> {
        self.fits(info)?;
        match self.away {
            Some(away) => self.judge(info, away),
            None => {
                self.state.lock().out = None;
                Ok(())
            }
        }
    }

    /// Why the server that was met last was kept out, if it was.
    pub(super) fn quarantined(&self) -> Option<NotAdmitted> {
        self.state.lock().out.clone()
    }

    /// Fails for now: its name may lead to another server, and what is owed to that one stays owed.
    fn fits(&self, info: &str) -> Result<(), BackendError> {
        let Err(unfit) = self.roster.enter(self.place, info) else {
            return Ok(());
        };
        let refused = BackendError::not_applied(unfit.to_string());
        let out = Some(NotAdmitted::Unfit(unfit));
        let before = std::mem::replace(&mut self.state.lock().out, out.clone());
        // It is tried again and again.
        if before != out {
            warn_of_unfit_node(&self.roster.address(self.place), &refused);
        }
        Err(refused)
    }

    fn judge(&self, info: &str, away: Duration) -> Result<(), BackendError> {
        let field = |name| reply::info_field(info, name);
        let uptime = field("uptime_in_seconds").and_then(|it| it.parse().ok());
        let (Some(run_id), Some(uptime)) = (field("run_id"), uptime) else {
            return Err(BackendError::not_applied(
                "the server does not say how long it has been up (INFO server)",
            ));
        };
        let mut state = self.state.lock();
        let admitted_from = match &state.known {
            Some(known) if known.run_id == run_id => known.admitted_from,
            _ => LeaseInstant::now().after(away.saturating_sub(Duration::from_secs(uptime))),
        };
        let left = admitted_from.remaining();
        state.known = Some(KnownServer {
            run_id: run_id.to_owned(),
            admitted_from,
        });
        state.out = (!left.is_zero()).then(|| NotAdmitted::TooYoung {
            version: field("redis_version").unwrap_or_default().to_owned(),
        });
        if left.is_zero() {
            return Ok(());
        }
        Err(BackendError::not_applied(format!(
            "it was restarted and may have forgotten locks that are still held; it votes again in {left:.1?}"
        )))
    }
}

fn warn_of_unfit_node(node: &str, error: &BackendError) {
    event!(
        warn,
        "leasehold.unfit_node",
        { node = node, error = error as &dyn std::error::Error },
        "the node has no vote, since its server is none of its own"
    );
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    const AWAY: Duration = Duration::from_secs(60);

    /// The only node.
    fn admission() -> RestartQuarantine {
        let roster = DistinctNodes::of(["a".to_owned()]);
        RestartQuarantine::of(0, &Arc::new(roster), Some(AWAY))
    }

    fn info(run_id: &str, uptime: u64) -> String {
        format!("redis_version:7.0.15\r\nrun_id:{run_id}\r\nuptime_in_seconds:{uptime}\r\n")
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_is_admitted_when_it_has_been_up_long_enough() {
        let admission = admission();
        let judge = |run_id, uptime| admission.judge(&info(run_id, uptime), AWAY);
        assert!(judge("old", 60).is_ok());
        assert!(judge("a", 180).is_ok());
        // Restarted: by its own account it has been up for ten seconds.
        let refused = judge("new", 10).unwrap_err();
        assert!(
            refused.is_temporary() && refused.to_string().contains("in 50.0s"),
            "{refused}"
        );
        let too_young = || {
            let version = "7.0.15".to_owned();
            Some(NotAdmitted::TooYoung { version })
        };
        assert_eq!(admission.quarantined(), too_young());
        advance(Duration::from_secs(49)).await;
        assert!(judge("new", 59).is_err());
        advance(Duration::from_secs(1)).await;
        // As it was when it was met.
        assert_eq!(admission.quarantined(), too_young());
        assert!(judge("new", 60).is_ok());
        assert_eq!(admission.quarantined(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_jump_of_the_servers_clock_admits_nobody() {
        let admission = admission();
        assert!(admission.judge(&info("new", 0), AWAY).is_err());
        assert!(admission.judge(&info("new", 6000), AWAY).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_be_a_node_is_kept_out_and_is_not_older_for_that_later() {
        let admission = admission();
        let replica = format!("{}role:slave\r\n", info("new", 0));
        let refused = admission.fits(&replica).unwrap_err();
        assert!(refused.is_temporary(), "{refused}");
        assert_eq!(
            admission.quarantined(),
            Some(NotAdmitted::Unfit(UnfitNode::Replica))
        );
        // It was made a primary.
        let primary = info("new", 0);
        assert!(admission.fits(&primary).is_ok());
        assert!(admission.judge(&primary, AWAY).is_err());
        advance(AWAY).await;
        assert!(admission.judge(&primary, AWAY).is_ok());
    }
}
