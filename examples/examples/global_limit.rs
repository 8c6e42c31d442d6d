//! A concurrency limit over all processes, such as the limit of an external service.
//!
//! The permits of a crashed process become free when its lease expires.
//!
//! Run it with `cargo run --example global_limit`, or with `-- redis://127.0.0.1` in two terminals: together they stay
//! within the limit. Try: `.acquire_many(2)` for a large mail. Small mails cannot overtake it forever.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The limit of the mail service.
const LIMIT: u32 = 3;

/// The service, which counts its concurrent calls.
#[derive(Debug, Default)]
struct MailService {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl MailService {
    async fn send(&self, number: usize) {
        let now = self.now.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(now, Ordering::Relaxed);
        println!("mail {number:2} is sent, {now} concurrently");
        sleep(Duration::from_millis(100)).await;
        self.now.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn send_all(locks: &LockManager, mails: usize) -> Result<usize, Error> {
    let service = Arc::new(MailService::default());
    let mut sending = JoinSet::new();
    for number in 1..=mails {
        let (locks, service) = (locks.clone(), Arc::clone(&service));
        sending.spawn(async move {
            let permit = locks.semaphore("mail", LIMIT).acquire().await?;
            permit
                .run(async |_| {
                    service.send(number).await;
                    Ok::<_, Error>(())
                })
                .await?;
            permit.release().await?;
            Ok::<(), Error>(())
        });
    }
    for sent in sending.join_all().await {
        sent?;
    }
    Ok(service.most.load(Ordering::Relaxed))
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let locks = match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    };
    println!("at most {} concurrently", send_all(&locks, 20).await?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn concurrency_reaches_but_does_not_exceed_the_limit() {
        let most = send_all(&LockManager::in_process(), 20).await.unwrap();
        assert_eq!(most, LIMIT as usize);
    }
}
