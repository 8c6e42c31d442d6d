//! How a process connects to the locks.

use std::time::Duration;

use leasehold::LockManager;
use leasehold::backend::redis::Redis;
use leasehold::backend::redlock::Redlock;
use leasehold::backend::zookeeper::ZooKeeper;
use leasehold_sqlx::{SqlBackend, ddl};
use serde::{Deserialize, Serialize};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{MySql, Pool, Postgres, SqlitePool};

use crate::BoxError;

/// The TTL of all locks.
pub const TTL: Duration = Duration::from_secs(1);

/// The duration of a session of `ZooKeeper`, which takes the place of the TTL.
pub const SESSION: Duration = Duration::from_millis(1_500);

/// The timeout of one of several servers.
const NODE_TIMEOUT: Duration = Duration::from_millis(150);

/// The timeout for the acknowledgement of a replica.
const ACKNOWLEDGED: Duration = Duration::from_millis(200);

/// The time until a lost reply is noticed.
const COMMAND_TIMEOUT: Duration = Duration::from_millis(600);

/// How a process connects to the locks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locks {
    /// Within the process.
    InProcess,
    /// At a URL of Redis.
    Redis(String),
    /// At a URL of Redis, with locks that a replica must acknowledge.
    Synced(String),
    /// On the nodes at these addresses.
    Redlock(Vec<String>),
    /// At a URL of `ZooKeeper`.
    ZooKeeper(String),
    /// In the table of the database at a URL.
    Database(String),
}

impl Locks {
    /// Connects to the locks.
    ///
    /// # Errors
    ///
    /// Returns the error of the backend.
    pub async fn connect(&self) -> Result<LockManager, BoxError> {
        let builder = LockManager::builder()
            .ttl(TTL)
            .command_timeout(COMMAND_TIMEOUT);
        Ok(match self {
            Self::InProcess => LockManager::in_process(),
            Self::Redis(url) => builder.connect(url).await?,
            Self::Synced(url) => {
                let synced = Redis::builder().synced(1, ACKNOWLEDGED);
                builder.build(synced.connect(url).await?)?
            }
            Self::Redlock(hosts) => {
                let urls = hosts.iter().map(|host| format!("redis://{host}"));
                // The nodes do not persist data. A node that has lost its data does not vote for four seconds.
                let nodes = Redlock::new(urls)
                    .node_timeout(NODE_TIMEOUT)
                    .max_ttl(TTL * 2)
                    .clock_difference(Duration::from_secs(1));
                builder.build(nodes.connect().await?)?
            }
            Self::ZooKeeper(url) => {
                let zookeeper = ZooKeeper::builder().session_timeout(SESSION);
                builder.build(zookeeper.connect(url).await?)?
            }
            Self::Database(url) => match url.split_once(':').map(|it| it.0) {
                Some("postgres") => {
                    builder.build(SqlBackend::new(Pool::<Postgres>::connect(url).await?))?
                }
                Some("mysql") => {
                    builder.build(SqlBackend::new(Pool::<MySql>::connect(url).await?))?
                }
                _ => builder.build(SqlBackend::new(sqlite(url).await?))?,
            },
        })
    }
}

/// Creates the table of the locks in the database at a URL.
pub(super) async fn create_table(url: &str) -> Result<(), BoxError> {
    match url.split_once(':').map(|it| it.0) {
        Some("postgres") => ddl::create_locks(&Pool::<Postgres>::connect(url).await?).await?,
        Some("mysql") => ddl::create_locks(&Pool::<MySql>::connect(url).await?).await?,
        _ => ddl::create_locks(&sqlite(url).await?).await?,
    }
    Ok(())
}

/// Connects to a file, whose changes survive the end of a process, but not of the machine.
async fn sqlite(url: &str) -> Result<SqlitePool, sqlx::Error> {
    let options: SqliteConnectOptions = url.parse()?;
    let options = options.journal_mode(SqliteJournalMode::Wal);
    SqlitePool::connect_with(options.synchronous(SqliteSynchronous::Normal)).await
}
