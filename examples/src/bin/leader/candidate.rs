//! A candidate process.

use std::time::Duration;

use leasehold::{LockHandle, LockManager};
use leasehold_examples::BoxError;
use tokio::time::interval;

use crate::report;

/// The lease of the leader. After a crash there is no leader for this time.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// The line of a candidate that leads, before its token.
pub(crate) const LEADS: &str = "leads, token";

#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) url: String,
    /// The prefix of the keys.
    pub(crate) prefix: String,
}

impl Candidate {
    /// Runs the candidate until its input is closed.
    pub(crate) async fn stand(&self) -> Result<(), BoxError> {
        let locks = LockManager::builder();
        let locks = locks.prefix(format!("{}lock:", self.prefix));
        let locks = locks.connect(&self.url).await?;
        // Annotated functions use this manager.
        locks.set_global_default()?;
        tokio::select! {
            ended = locks.election("leader").ttl(LEASE).campaign(job) => ended?,
            failed = report::every_slot() => failed?,
            () = input_closed() => println!("stops"),
        }
        // Another candidate leads as soon as the lock is released.
        locks.shutdown().await?;
        Ok(())
    }
}

/// The job that only the leader may run. When the term ends, the job is dropped at its current `.await`.
async fn job(leader: LockHandle) -> Result<(), leasehold::Error> {
    println!("{LEADS} {}", leader.token());
    rounds(|| println!("runs its job")).await
}

/// Runs a round of the job every half second.
async fn rounds<T>(round: impl Fn()) -> T {
    let mut rounds = interval(Duration::from_millis(500));
    loop {
        rounds.tick().await;
        round();
    }
}

/// Returns when the standard input is closed.
async fn input_closed() {
    let (send, closed) = tokio::sync::oneshot::channel();
    // A thread instead of a task, because the runtime could not stop a blocking read.
    std::thread::spawn(move || {
        // An error also ends the input.
        let _end = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _sent = send.send(());
    });
    // The thread runs until the input ends.
    let _closed = closed.await;
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use leasehold::chaos::Chaos;
    use tokio::time::timeout;

    use super::*;

    /// Two candidates campaign. The first one stops after ten seconds, and the other one leads.
    #[leasehold::chaos_test]
    async fn job_of_an_earlier_leader_does_not_run_after_a_later_one_despite_faults(chaos: Chaos) {
        let rounds_of = RefCell::new(Vec::new());
        let stand = async |locks: LockManager, time: Duration| {
            let job = async |leader: LockHandle| -> Result<(), leasehold::Error> {
                rounds(|| rounds_of.borrow_mut().push(leader.token())).await
            };
            let election = locks.election("leader").ttl(LEASE);
            // The time is over, or the campaign has failed.
            let _ended = timeout(time, election.campaign(job)).await;
        };
        tokio::join!(
            chaos.client(async |locks| stand(locks, Duration::from_secs(10)).await),
            chaos.client(async |locks| stand(locks, Duration::from_secs(20)).await),
        );
        let rounds_of = rounds_of.into_inner();
        assert!(rounds_of.is_sorted(), "{rounds_of:?}");
        assert!(!chaos.is_calm() || rounds_of.first() < rounds_of.last());
    }
}
