use std::time::Duration;

use async_trait::async_trait;
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use uuid::Uuid;

use super::handoff::HandOff;
use super::uncontended::{self, Pairs};
use super::{Environment, Workload};
use crate::BoxError;
use crate::clock;
use crate::contention::{METRICS, Rush, Tally};
use crate::contestant::{AnyContestant, databases};
use crate::report::Outcome;
use crate::turns::Plan;

pub(crate) const POSTGRES: &str = "SQL locks, Postgres";
pub(crate) const MARIADB: &str = "SQL locks, MariaDB";
pub(crate) const SQLITE: &str = "SQL locks, SQLite";

/// The metric of a pair without contention.
pub(crate) const PAIR: &str = "p50_us";

/// The number of tasks that want one key.
const TASKS: u32 = 8;

/// How long they hold the contended lock.
const SECTION: Duration = Duration::from_millis(1);

/// Locks in a database, which does not sync to its disk. One task without contention; then tasks of one process that
/// want one key; then the hand-off to another process.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SqlLocks {
    Postgres,
    MariaDb,
    Sqlite,
}

#[async_trait(?Send)]
impl Workload for SqlLocks {
    fn name(&self) -> String {
        match self {
            Self::Postgres => POSTGRES.into(),
            Self::MariaDb => MARIADB.into(),
            Self::Sqlite => SQLITE.into(),
        }
    }

    async fn run(&self, environment: &Environment<'_>) -> Result<Outcome, BoxError> {
        let (name, quick) = (self.name(), environment.quick);
        let redis = &environment.field.redis;
        match self {
            Self::Postgres => {
                let server = PostgresServer::start().await?;
                let entrants = databases::on_postgres(&server.url().parse()?, redis).await?;
                measure(&name, &entrants, quick).await
            }
            Self::MariaDb => {
                let server = MariaDbServer::start().await?;
                let entrants = databases::on_mariadb(&server.url().parse()?, redis).await?;
                measure(&name, &entrants, quick).await
            }
            Self::Sqlite => {
                let folder = tempfile::tempdir()?;
                let options = SqliteConnectOptions::new()
                    .filename(folder.path().join("locks.db"))
                    .create_if_missing(true)
                    .journal_mode(SqliteJournalMode::Wal)
                    .synchronous(SqliteSynchronous::Normal);
                let entrants = databases::on_sqlite(&options, redis).await?;
                measure(&name, &entrants, quick).await
            }
        }
    }
}

async fn measure(
    workload: &str,
    entrants: &[(&'static str, AnyContestant)],
    quick: bool,
) -> Result<Outcome, BoxError> {
    warm(entrants).await?;
    let alone = Plan {
        workload,
        metrics: uncontended::METRICS,
        rounds: if quick { 8 } else { 40 },
    };
    let contended = Plan {
        workload,
        metrics: METRICS,
        rounds: if quick { 2 } else { 6 },
    };
    let handed_off = Plan {
        workload,
        metrics: &["hand_off_p50_ms"],
        rounds: if quick { 3 } else { 12 },
    };
    let slice = Duration::from_millis(if quick { 350 } else { 1_000 });
    let names: Vec<_> = entrants.iter().map(|(name, _)| *name).collect();
    let contend = async |at: usize| {
        let mut tally = Tally::default();
        tally.add(entrants[at].1.receive(&rush(slice)).await?);
        Ok(tally.values(slice))
    };
    Ok(Outcome::joined(vec![
        alone.take_turns_with(entrants, &pairs(1)).await?,
        contended.take_turns(&names, contend).await?,
        handed_off
            .take_turns_with(entrants, &HandOff::REMOTE)
            .await?,
    ]))
}

/// Opens the connections of each pool and prepares the statements on them.
async fn warm(entrants: &[(&'static str, AnyContestant)]) -> Result<(), BoxError> {
    for (_, contestant) in entrants {
        contestant.receive(&pairs(TASKS as usize)).await?;
        contestant
            .receive(&rush(Duration::from_millis(200)))
            .await?;
    }
    Ok(())
}

fn pairs(tasks: usize) -> Pairs {
    Pairs {
        tasks,
        slice: Duration::from_millis(60),
        keys: 1,
    }
}

fn rush(slice: Duration) -> Rush {
    Rush {
        key: format!("contended:{}", Uuid::new_v4()),
        tasks: TASKS,
        first: 0,
        begin: clock::now(),
        slice,
        section: SECTION,
    }
}
