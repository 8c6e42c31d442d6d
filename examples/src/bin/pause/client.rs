//! A process that deposits money.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_examples::BoxError;
use leasehold_sqlx::Error;

use crate::account::{self, Account};
use crate::event::Event;

/// The lease, which is short so that the example is short. The watchdog renews it while the process runs.
pub(crate) const LEASE: Duration = Duration::from_secs(1);

/// The task of a client.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) url: String,
    /// The key of the lock.
    pub(crate) key: String,
    /// The file of the database.
    pub(crate) file: PathBuf,
    pub(crate) fenced: bool,
    pub(crate) amount: i64,
    /// Whether the client is stopped between its read and its write.
    pub(crate) stops: bool,
}

pub(crate) async fn deposit(task: &Task) -> Result<(), BoxError> {
    let account = account::open(&task.file, task.fenced, task.stops);
    let locks = LockManager::connect(&task.url).await?;
    deposit_on(&locks, &*account, &task.key, task.amount).await?;
    locks.shutdown().await?;
    Ok(())
}

/// Deposits an amount. Returns whether it was written.
async fn deposit_on(
    locks: &LockManager,
    account: &dyn Account,
    key: &str,
    amount: i64,
) -> Result<bool, BoxError> {
    Event::Asks.say();
    let guard = locks.lock(key).ttl(LEASE).acquire().await?;
    Event::Holds(guard.token().get()).say();

    let deposit = async {
        let balance = account.read().await?;
        Event::Read(balance).say();
        Event::Valid(guard.is_valid()).say();
        let balance = balance + amount;
        account.write(balance).await?;
        Ok(balance)
    };
    // `run` would drop the deposit after the loss, before it can report whether its write was refused.
    let written = guard.handle().scope(deposit).await;
    let is_written = written.is_ok();
    match written {
        Ok(balance) => Event::Wrote(balance).say(),
        Err(Error::Stale(stale)) => Event::Refused {
            token: stale.token.get(),
            newest: stale.current.get(),
        }
        .say(),
        Err(error) => return Err(error.into()),
    }
    match guard.release().await {
        Ok(()) => Event::Released.say(),
        Err(error) if error.is_lost() => Event::AlreadyLost.say(),
        Err(error) => return Err(error.into()),
    }
    Ok(is_written)
}

/// Stops this process, including its watchdog, until another process continues it.
pub(crate) fn stop() -> std::io::Result<()> {
    Event::Stops.say();
    let me = std::process::id().to_string();
    Command::new("kill").args(["-s", "STOP", &me]).status()?;
    Event::Wakes.say();
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold::chaos::{Chaos, ChaosTest};
    use leasehold_sqlx::FencedPool;
    use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};

    use super::*;

    /// An account in memory. A paused client may keep a connection.
    async fn opened() -> Result<SqlitePool, Error> {
        let pool = SqlitePoolOptions::new()
            .min_connections(4)
            .max_connections(4);
        let pool = pool.connect("sqlite::memory:").await?;
        account::prepare(&pool).await?;
        Ok(pool)
    }

    /// Three clients deposit 10 each.
    async fn deposits_are_complete(chaos: Chaos, account: impl Fn(SqlitePool) -> Box<dyn Account>) {
        let pool = chaos.outside(opened()).await.unwrap();
        let account = account(pool.clone());
        let deposit = async |locks| deposit_on(&locks, &*account, "account", 10).await;
        let ends = chaos.clients(3, deposit).await;
        let written = ends.iter().flatten().flatten().filter(|end| **end);
        let expected = account::FIRST_BALANCE + written.map(|_| 10).sum::<i64>();
        let balance = Account::read(&pool).await.unwrap();
        assert!(balance >= expected, "{balance} instead of {expected}");
    }

    #[leasehold::chaos_test]
    async fn deposit_with_a_fenced_pool_is_complete_despite_faults(chaos: Chaos) {
        deposits_are_complete(chaos, |pool| Box::new(FencedPool::new(pool))).await;
    }

    /// The control.
    #[test]
    fn faults_lose_a_deposit_with_a_plain_pool() {
        // All faults are tried, however slow the machine is.
        let test = ChaosTest::new().time_limit(Duration::from_secs(600));
        let check = test.check(async |chaos| {
            deposits_are_complete(chaos, |pool| Box::new(pool)).await;
        });
        let failure = check.unwrap_err();
        assert!(failure.reason().contains("instead of"), "{failure}");
    }
}
