//! Several keys as one lock: all or none, without deadlocks.
//!
//! Money is transferred between accounts in both directions concurrently. Each transfer locks both accounts. They are
//! always locked in the same order, independent of the order in the call.
//!
//! Run it with `cargo run --example several_keys`. Try: lock the two accounts one after the other, `from` first, and it
//! deadlocks.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold::{Error, LockManager};
use tokio::task::JoinSet;
use tokio::time::sleep;

#[derive(Debug, Clone)]
struct Bank {
    locks: LockManager,
    balances: Arc<Mutex<BTreeMap<&'static str, i64>>>,
}

impl Bank {
    async fn transfer(&self, from: &'static str, to: &'static str, sum: i64) -> Result<(), Error> {
        let keys = [format!("account:{from}"), format!("account:{to}")];
        let guard = self.locks.lock_all(keys).acquire().await?;
        // The body is dropped if either lock is lost.
        guard
            .run(async |_| {
                self.move_money(from, to, sum).await;
                Ok::<_, Error>(())
            })
            .await?;
        guard.release().await?;
        Ok(())
    }

    /// Reads, waits, and writes. This is only correct for one call at a time.
    async fn move_money(&self, from: &'static str, to: &'static str, sum: i64) {
        let (had, got) = (self.balance(from), self.balance(to));
        sleep(Duration::from_millis(5)).await;
        let mut balances = self.balances.lock().unwrap_or_else(PoisonError::into_inner);
        balances.insert(from, had - sum);
        balances.insert(to, got + sum);
    }

    fn balance(&self, account: &str) -> i64 {
        let balances = self.balances.lock().unwrap_or_else(PoisonError::into_inner);
        balances.get(account).copied().unwrap_or_default()
    }
}

/// Runs ten rounds of transfers between three accounts, all concurrently.
async fn business(bank: &Bank) -> Result<(), Error> {
    let mut running = JoinSet::new();
    for _ in 0..10 {
        for (from, to) in [
            ("ann", "bob"),
            ("bob", "ann"),
            ("bob", "cho"),
            ("cho", "ann"),
        ] {
            let bank = bank.clone();
            running.spawn(async move { bank.transfer(from, to, 5).await });
        }
    }
    running.join_all().await.into_iter().collect()
}

fn opened(locks: LockManager) -> Bank {
    let balances = BTreeMap::from([("ann", 100), ("bob", 100), ("cho", 100)]);
    let balances = Arc::new(Mutex::new(balances));
    Bank { locks, balances }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let bank = opened(match std::env::args().nth(1) {
        Some(url) => LockManager::connect(&url).await?,
        None => LockManager::in_process(),
    });
    business(&bank).await?;
    for account in ["ann", "bob", "cho"] {
        println!("{account} has {}", bank.balance(account));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold::chaos::Chaos;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn concurrent_transfers_neither_lose_money_nor_deadlock() {
        let bank = opened(LockManager::in_process());
        business(&bank).await.unwrap();
        let balances = ["ann", "bob", "cho"].map(|account| bank.balance(account));
        assert_eq!(
            balances,
            [150, 50, 100],
            "each round ann gains 5 and bob loses 5"
        );
    }

    #[leasehold::chaos_test]
    async fn money_is_neither_lost_nor_created_despite_faults(chaos: Chaos) {
        let bank = opened(chaos.locks());
        let transfer = |from, to| {
            let balances = Arc::clone(&bank.balances);
            chaos.client(async move |locks| {
                let bank = Bank { locks, balances };
                bank.transfer(from, to, 5).await
            })
        };
        let (one, two, three) = (
            transfer("ann", "bob"),
            transfer("bob", "ann"),
            transfer("cho", "bob"),
        );
        tokio::join!(one, two, three);
        let sum: i64 = ["ann", "bob", "cho"]
            .map(|it| bank.balance(it))
            .iter()
            .sum();
        assert_eq!(sum, 300);
    }
}
