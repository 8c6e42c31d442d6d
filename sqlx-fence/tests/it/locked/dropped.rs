//! Calls that are dropped at each of their `.await`s.

use std::future::IntoFuture;

use leasehold_sqlx::LockedTransaction;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqlitePoolOptions;
use tokio::time::timeout;

use crate::locked::tools::{
    SOON, acquired, dropped_after, item, manager, mariadb, mariadb_server, postgres,
    postgres_server, run, seen, sqlite,
};

/// Drops `begin` and `commit` at each wait. The only connection of the pool has no open transaction afterwards, and the
/// transaction is written completely or not at all.
macro_rules! dropped {
    ($others:expr, $options:ty, $url:expr) => {{
        let others = $others;
        item!(&others, "dropped");
        item!(&others, "afterwards");
        let guard = acquired(&manager(&others), "dropped").await;
        let (mut afterwards, mut amount) = (0, 10);
        for call in ["begin", "commit"] {
            for waits in 1.. {
                let pool = <$options>::new().max_connections(1);
                let pool = pool.connect($url).await.unwrap();
                let begin = LockedTransaction::begin(&pool, &guard).into_future();
                let completed = if call == "begin" {
                    dropped_after(waits, begin).await.is_some()
                } else {
                    let mut tx = begin.await.unwrap();
                    run!(
                        &mut *tx,
                        "UPDATE items SET amount = amount + 1 WHERE id = 'dropped'"
                    );
                    run!(
                        &mut *tx,
                        "UPDATE items SET amount = amount + 1 WHERE id = 'dropped'"
                    );
                    dropped_after(waits, tx.commit()).await.is_some()
                };
                let write = async {
                    run!(
                        &pool,
                        "UPDATE items SET amount = amount + 1 WHERE id = 'afterwards'"
                    );
                };
                let written = timeout(SOON, write).await;
                written.unwrap_or_else(|_| panic!("{call} {waits}: the connection is lost"));
                afterwards += 1;
                assert_eq!(
                    seen!(&others, "afterwards"),
                    (10 + afterwards, afterwards),
                    "{call} {waits}: a confirmed write is not committed"
                );
                let found = seen!(&others, "dropped");
                if call == "commit" && found.0 != amount {
                    amount += 2;
                }
                assert_eq!(found, (amount, amount - 10), "{call} {waits}");
                pool.close().await;
                if completed {
                    println!("{call}: dropped at {} waits", waits - 1);
                    break;
                }
            }
        }
    }};
}

#[tokio::test]
async fn on_postgres_a_dropped_call_leaves_no_transaction() {
    let url = postgres_server().await.url();
    dropped!(postgres().await, PgPoolOptions, &url);
}

#[tokio::test]
async fn on_mariadb_a_dropped_call_leaves_no_transaction() {
    let url = mariadb_server().await.url();
    dropped!(mariadb().await, MySqlPoolOptions, &url);
}

#[tokio::test]
async fn on_sqlite_a_dropped_call_leaves_no_transaction() {
    let (folder, pool) = sqlite().await;
    let url = format!("sqlite:{}", folder.path().join("locked.db").display());
    dropped!(pool, SqlitePoolOptions, &url);
}
