//! Code that blocks the thread. Chaos tests do not find this mistake.
//!
//! On a real runtime a blocked thread cannot renew its lease. In a chaos test the paused clock does not advance while
//! the thread is blocked, so the lease does not expire. A test would have to measure the time of the machine, and would
//! then not be repeatable.

use std::time::Duration;

use leasehold::Error;

use crate::chaos::passes;

#[test]
fn code_that_blocks_the_thread_is_not_found() {
    passes(async |chaos| {
        let end = chaos.client(async |locks| {
            let guard = locks
                .lock("report")
                .ttl(Duration::from_millis(50))
                .acquire()
                .await?;
            // The mistake.
            std::thread::sleep(Duration::from_millis(60));
            guard.release().await
        });
        let end: Option<Result<(), Error>> = end.await;
        assert!(
            !chaos.is_calm() || end.is_some_and(|it| it.is_ok()),
            "the lease has expired"
        );
    });
}
