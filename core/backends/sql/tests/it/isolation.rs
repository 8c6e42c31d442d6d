//! The backend works with every isolation level that a role, a database or a session may have by default. The database
//! then refuses statements because of concurrent changes, and the backend repeats them.

use leasehold::backend::sql::SqlBackend;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::{Executor, MySql, MySqlPool, PgPool, Postgres};

use crate::contention::{all_get_their_turns, no_operation_fails};
use crate::{mariadb, postgres};

const CONNECTIONS: u32 = 8;

async fn postgres(level: &'static str) -> PgPool {
    let set = move || format!("SET default_transaction_isolation = '{level}'");
    let options = PgPoolOptions::new().max_connections(CONNECTIONS);
    let options = options.after_connect(move |connection, _| {
        Box::pin(async move {
            connection.execute(sqlx::AssertSqlSafe(set())).await?;
            Ok(())
        })
    });
    options.connect(&postgres::url().await).await.unwrap()
}

async fn mariadb(level: &'static str) -> MySqlPool {
    let set = move || format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
    let options = MySqlPoolOptions::new().max_connections(CONNECTIONS);
    let options = options.after_connect(move |connection, _| {
        Box::pin(async move {
            connection.execute(sqlx::AssertSqlSafe(set())).await?;
            Ok(())
        })
    });
    options.connect(&mariadb::url().await).await.unwrap()
}

/// Defines the tests of one isolation level.
macro_rules! level {
    ($name:ident: $database:ty, $pool:expr) => {
        mod $name {
            use super::*;

            leasehold::conformance_tests! {
                mod suite {
                    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                    sharing => {
                        let pool = $pool.await;
                        async move || SqlBackend::<$database>::new(pool.clone())
                    }
                }
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn no_operation_fails_under_contention() {
                no_operation_fails($pool.await, stringify!($name)).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn all_waiters_acquire_the_lock_in_turn() {
                all_get_their_turns($pool.await, concat!(stringify!($name), ":turns")).await;
            }
        }
    };
}

level!(postgres_repeatable_read: Postgres, postgres("repeatable read"));
level!(postgres_serializable: Postgres, postgres("serializable"));
level!(mariadb_read_committed: MySql, mariadb("READ COMMITTED"));
level!(mariadb_serializable: MySql, mariadb("SERIALIZABLE"));
