//! Chaos tests of code with and without mistakes, and what their reports say.

use std::cell::Cell;

use leasehold::chaos::{Chaos, ChaosTest, Failure, Summary};
use leasehold::{Error, LockManager};
use tokio::task::yield_now;

async fn read_and_write(balance: &Cell<i64>) -> Result<(), Error> {
    let read = balance.get();
    yield_now().await;
    balance.set(read - 10);
    Ok(())
}

/// Withdraws 10 by three clients. `withdraw` is the code to test.
fn check(
    withdraw: impl AsyncFn(LockManager, &Cell<i64>) -> Result<(), Error>,
) -> Result<Summary, Failure> {
    ChaosTest::new().check(async |chaos: Chaos| {
        let balance = Cell::new(100);
        let ends = chaos.clients(3, async |locks| withdraw(locks, &balance).await);
        let ends = ends.await;
        let withdrawn = ends.iter().flatten().filter(|end| end.is_ok()).count();
        let withdrawn = i64::try_from(withdrawn).unwrap();
        let balance = balance.get();
        assert!(
            balance <= 100 - 10 * withdrawn,
            "{withdrawn} times, and {balance} are left"
        );
    })
}

#[test]
fn work_without_run_overwrites_the_other_clients_write_after_a_pause() {
    let failure = check(async |locks, balance| {
        let guard = locks.lock("account:71").acquire().await?;
        read_and_write(balance).await?;
        // The error comes too late.
        guard.release().await
    })
    .unwrap_err();
    println!("{failure}");
    assert!(failure.reason().contains("times, and"), "{failure}");
}

#[test]
fn work_with_run_passes_each_case() {
    let summary = check(async |locks, balance| {
        let guard = locks.lock("account:71").acquire().await?;
        guard.run(async |_| read_and_write(balance).await).await
    })
    .unwrap();
    println!("{summary:?}");
    assert!(summary.is_exhaustive() && summary.cases > 20, "{summary:?}");
    assert_eq!(summary.unreached, 0);
}
