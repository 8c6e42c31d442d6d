//! A process that would lead.

use std::convert::Infallible;
use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold_examples::{BoxError, Chain};
use tokio::time::{interval, sleep};

use crate::report;

/// How long nobody leads after a leader's crash.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// What a candidate says when it leads, before its token.
pub(crate) const LEADS: &str = "leads, token";

#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) url: String,
    /// What its keys begin with.
    pub(crate) prefix: String,
}

impl Candidate {
    /// What the process does until it is told to go.
    pub(crate) async fn stand(&self) -> Result<(), BoxError> {
        let backend = Redis::connect(&self.url).await?;
        let locks = LockManager::builder(backend);
        let locks = locks.prefix(format!("{}lock:", self.prefix)).build()?;
        // Where annotated functions find it.
        locks.set_global_default()?;
        tokio::select! {
            never = lead(&locks) => match never {},
            failed = report::every_slot(&self.url, &self.prefix) => failed?,
            () = told_to_go() => println!("goes"),
        }
        // Hands the lock on, if it has it: nobody waits for its lease.
        locks.shutdown().await?;
        Ok(())
    }
}

/// Leads whenever it can. An outage is no reason to give up.
async fn lead(locks: &LockManager) -> Infallible {
    loop {
        match locks.lock("leader").ttl(LEASE).acquire().await {
            Ok(guard) => {
                println!("{LEADS} {}", guard.token());
                // Dropped where it stands as soon as the lock is lost.
                match guard.run(job()).await {
                    Ok(never) => match never {},
                    Err(lost) => println!("leads no more: {}", lost.reason),
                }
            }
            Err(error) => {
                eprintln!("{}", Chain(&error));
                sleep(Duration::from_secs(1)).await;
            }
        }
    }
}

/// What must run once in the whole system.
async fn job() -> Infallible {
    let mut rounds = interval(Duration::from_millis(500));
    loop {
        rounds.tick().await;
        println!("is at its job");
    }
}

/// Returns when the standard input is closed.
async fn told_to_go() {
    let (tell, told) = tokio::sync::oneshot::channel();
    // No task of the runtime: one that reads could not be ended with it.
    std::thread::spawn(move || {
        // An error is an end, too.
        let _end = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _gone = tell.send(());
    });
    // The thread lives as long as the input.
    let _told = told.await;
}
