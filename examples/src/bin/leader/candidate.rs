//! A candidate process.

use std::convert::Infallible;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_examples::{BoxError, Chain};
use tokio::time::{interval, sleep};

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
            never = lead(&locks) => match never {},
            failed = report::every_slot() => failed?,
            () = input_closed() => println!("stops"),
        }
        // Releases the lock, so that the other candidates need not wait for the end of the lease.
        locks.shutdown().await?;
        Ok(())
    }
}

/// Leads whenever it holds the lock. Continues after backend errors.
async fn lead(locks: &LockManager) -> Infallible {
    loop {
        match locks.lock("leader").ttl(LEASE).acquire().await {
            Ok(guard) => {
                println!("{LEADS} {}", guard.token());
                // If the lock is lost, the job is dropped at its current `.await`.
                match guard
                    .run(async |_| Ok::<_, leasehold::Error>(job().await))
                    .await
                {
                    Ok(never) => match never {},
                    Err(error) => println!("does not lead any more: {error}"),
                }
            }
            Err(error) => {
                eprintln!("{}", Chain(&error));
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// The job that only one process may run.
async fn job() -> Infallible {
    let mut rounds = interval(Duration::from_millis(500));
    loop {
        rounds.tick().await;
        println!("runs its job");
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
