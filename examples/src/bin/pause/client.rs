//! A process that deposits money.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_examples::BoxError;
use leasehold_sqlx::Error;

use crate::account;
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
    Event::Asks.say();
    let guard = locks.lock(&task.key).ttl(LEASE).acquire().await?;
    Event::Holds(guard.token().get()).say();

    let deposit = async {
        let balance = account.read().await?;
        Event::Read(balance).say();
        Event::Valid(guard.is_valid()).say();
        let balance = balance + task.amount;
        account.write(balance).await?;
        Ok(balance)
    };
    // `run` would drop the deposit after the loss, before it can report whether its write was refused.
    match guard.handle().scope(deposit).await {
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
    locks.shutdown().await?;
    Ok(())
}

/// Stops this process, including its watchdog, until another process continues it.
pub(crate) fn stop() -> std::io::Result<()> {
    Event::Stops.say();
    let me = std::process::id().to_string();
    Command::new("kill").args(["-s", "STOP", &me]).status()?;
    Event::Wakes.say();
    Ok(())
}
