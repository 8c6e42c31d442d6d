//! Acquisitions and pauses of random lengths, until the process is killed.

use std::time::Duration;

use leasehold::{LockGuard, LockManager};
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{Compete, KEY};
use leasehold_testkit::history::{Moment, Recorder};
use tokio::time::sleep;

/// The interval at which a holder records that its lock is valid.
const STEP: Duration = Duration::from_millis(1);

/// The pause after an error of the backend. A stopped process may block the others.
const AFTER_ERROR: Duration = Duration::from_millis(20);

pub(crate) async fn compete(work: Compete, connected: &LockManager) -> Result<(), BoxError> {
    let locks = match work.shared {
        true => connected.clone(),
        false => LockManager::in_process(),
    };
    let recorder = Recorder::to_file(&work.file)?;
    loop {
        let requested_at = Moment::now();
        match locks.lock(KEY).ttl(work.ttl).acquire().await {
            Ok(guard) => hold(guard, requested_at, random(work.hold), &recorder).await,
            Err(error) => {
                eprintln!("{error:?}");
                sleep(AFTER_ERROR).await;
            }
        }
        sleep(random(work.pause)).await;
    }
}

/// Records how long the lock is valid, until it is released or lost.
async fn hold(guard: LockGuard, requested_at: Moment, time: Duration, recorder: &Recorder) {
    let noted = recorder.granted(KEY, guard.token().get(), requested_at);
    println!("granted {}", Moment::now().0);
    let begin = Moment::now();
    loop {
        let before = Moment::now();
        if !guard.is_valid() {
            // The lock counts as valid until the last record.
            return;
        }
        if u128::from(before.0 - begin.0) >= time.as_nanos() {
            noted.ended_at(before);
            // A lock that was lost since then needs no release.
            let _released = guard.release().await;
            return;
        }
        noted.valid_at(before);
        sleep(STEP).await;
    }
}

fn random(most: Duration) -> Duration {
    most.mul_f64(fastrand::f64())
}
