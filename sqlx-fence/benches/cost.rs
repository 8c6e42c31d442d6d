//! What a fence costs when all is well: the same UPDATE with and without it, in turns, on each database; and a
//! statement from the cache. Run it with `cargo bench -p leasehold-sqlx --all-features`.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program that measures and prints"
)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use leasehold_sqlx::{Fence, ddl};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool, Postgres};

/// A slice is short, so that what else the machine does falls on both alike.
const SLICES: usize = 201;
const UPDATES: i64 = 50;

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The medians of slices in turns.
macro_rules! cost {
    ($name:literal, $pool:expr, $sql:literal) => {{
        let pool = $pool;
        let items = "CREATE TABLE items (id BIGINT PRIMARY KEY, amount BIGINT); INSERT INTO items VALUES (1, 0), (2, 0)";
        sqlx::raw_sql(items).execute(&pool).await.unwrap();
        ddl::add_column(&pool, "items").await.unwrap();
        let fence = Fence::try_from(7).unwrap();
        let (mut plain, mut fenced) = (Vec::new(), Vec::new());
        for slice in 0..SLICES {
            for own in [slice % 2 == 0, slice % 2 != 0] {
                let begun = Instant::now();
                for number in 0..UPDATES {
                    if own {
                        fence.query($sql).bind(number).bind(1_i64).execute(&pool).await.unwrap();
                    } else {
                        sqlx::query($sql).bind(number).bind(1_i64).execute(&pool).await.unwrap();
                    }
                }
                if own { &mut fenced } else { &mut plain }.push(begun.elapsed());
            }
        }
        let (plain, fenced) = (median(plain), median(fenced));
        let each = |it: Duration| it.as_secs_f64() * 1e6 / 50.0;
        println!(
            "{:<9} plain {:7.1} µs, fenced {:7.1} µs, ratio {:.3}",
            $name,
            each(plain),
            each(fenced),
            fenced.as_secs_f64() / plain.as_secs_f64()
        );
    }};
}

fn cached() {
    let sql = "UPDATE orders SET state = $1, changed_at = now() WHERE id = $2 AND state <> 'closed' RETURNING id";
    let fence = Fence::try_from(7).unwrap();
    let build = || drop(black_box(fence.query::<Postgres>(black_box(sql))));
    build();
    let mut times = Vec::new();
    for _ in 0..SLICES {
        let begun = Instant::now();
        for _ in 0..1000 {
            build();
        }
        times.push(begun.elapsed());
    }
    println!(
        "a statement rewritten before, cache and all: {:.3} µs",
        median(times).as_secs_f64() * 1e3
    );
}

#[tokio::main]
async fn main() {
    cached();
    let postgres = PostgresServer::start().await.unwrap();
    cost!(
        "Postgres",
        PgPool::connect(&postgres.url()).await.unwrap(),
        "UPDATE items SET amount = $1 WHERE id = $2"
    );
    let mariadb = MariaDbServer::start().await.unwrap();
    cost!(
        "MariaDB",
        MySqlPool::connect(&mariadb.url()).await.unwrap(),
        "UPDATE items SET amount = ? WHERE id = ?"
    );
    let dir = tempfile::tempdir().unwrap();
    let options = SqliteConnectOptions::new()
        .filename(dir.path().join("cost.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal);
    let pools = SqlitePoolOptions::new().max_connections(1);
    cost!(
        "SQLite",
        pools.connect_with(options).await.unwrap(),
        "UPDATE items SET amount = ? WHERE id = ?"
    );
}
