//! A candidate of an election, which records the times at which it considers itself the leader.
//!
//! | input | reaction |
//! |---|---|
//! | `resign` | it resigns |
//! | the end | it shuts its manager down, and exits |

use std::io::stdin;
use std::time::Duration;

use leasehold::{Election, Error, LockHandle, LockManager};
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{Campaign, KEY};
use leasehold_testkit::history::{Moment, Noted, Recorder};
use tokio::runtime::Handle;
use tokio::time::sleep;

/// The interval at which a leader records that it leads.
const STEP: Duration = Duration::from_millis(2);

pub(crate) async fn campaign(work: Campaign, locks: &LockManager) -> Result<(), BoxError> {
    let election = locks.election(KEY);
    let (own, runtime) = ((locks.clone(), election.clone()), Handle::current());
    // A thread instead of a task, because the runtime cannot stop a blocking read.
    std::thread::spawn(move || runtime.block_on(follow_input(&own.0, &own.1)));
    let recorder = Recorder::to_file(&work.file)?;
    let asked = Moment::now();
    let led = election.campaign(async |leader: LockHandle| {
        let term = Term {
            noted: Some(recorder.granted(KEY, leader.token().get(), asked)),
            leader,
        };
        // After the record, because the test may stop the process as soon as it reads this line.
        println!("leads {}", term.leader.token());
        match work.outlives_term {
            true => tokio::spawn(term.ignore_the_end()).await.unwrap_or(Ok(())),
            false => term.lead().await,
        }
    });
    match led.await {
        // The thread waits for the end of the shutdown, and then ends the process.
        Err(Error::Closed { .. }) => std::future::pending().await,
        other => Ok(other?),
    }
}

async fn follow_input(locks: &LockManager, election: &Election) {
    for line in stdin().lines() {
        if line.is_ok_and(|line| line == "resign") {
            election.resign().await;
        }
    }
    let ended = locks.shutdown().await;
    std::process::exit(i32::from(ended.is_err()));
}

/// The work of a leader. Its drop is the end of the work.
struct Term {
    leader: LockHandle,
    noted: Option<Noted>,
}

impl Term {
    async fn lead(self) -> Result<(), Error> {
        loop {
            let before = Moment::now();
            if self.leader.check().is_err() {
                // The campaign drops this body. The error must not end the campaign.
                return std::future::pending().await;
            }
            if let Some(noted) = &self.noted {
                noted.valid_at(before);
            }
            sleep(STEP).await;
        }
    }

    /// The control: it records that it leads, without a check.
    async fn ignore_the_end(self) -> Result<(), Error> {
        loop {
            if let Some(noted) = &self.noted {
                noted.valid_at(Moment::now());
            }
            sleep(STEP).await;
        }
    }
}

impl Drop for Term {
    fn drop(&mut self) {
        let before = Moment::now();
        if let Some(noted) = self.noted.take()
            && self.leader.is_valid()
        {
            noted.ended_at(before);
        }
    }
}
