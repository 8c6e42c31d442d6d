//! The variable with the token in a session of `MariaDB`.

use leasehold_sqlx::{Error, FencedPool};
use leasehold_testkit::proxy::Proxy;
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{AssertSqlSafe, Executor, MySql, MySqlPool, Row};

use super::{held, holder, number};
use crate::fence::dropped::dropped_after;
use crate::fence::tools::mariadb;

const SET: &str = "UPDATE items SET amount = ? WHERE id = ?";
/// The token of another holder, which a session may still have.
const OTHER: &str = "SET @leasehold_token = 9223372036854775807";
const RESET: &str =
    "DELETE FROM items; INSERT INTO items (id, amount) VALUES (1, 10), (2, 20), (3, 30), (4, 40)";

/// Each statement has its values, and whether the variable must be set before it.
const STATEMENTS: [(&str, &[i64], bool); 11] = [
    (SET, &[7, 2], true),
    ("UPDATE items SET amount = ? WHERE id = 2", &[7], false),
    ("UPDATE items SET amount = 7", &[], false),
    (
        "UPDATE items AS i JOIN items AS o ON o.id = i.id AND o.id > ? SET i.amount = 7 WHERE i.id < 4",
        &[1],
        false,
    ),
    ("DELETE FROM items WHERE id = ? OR id = ?", &[2, 3], false),
    ("DELETE FROM items WHERE id > ? LIMIT ?", &[1, 2], true),
    (
        "INSERT INTO items (id, amount) VALUES (?, ?)",
        &[5, 50],
        false,
    ),
    (
        "INSERT INTO items (id, amount) VALUES (?, ?), (?, ?)",
        &[5, 50, 6, 60],
        true,
    ),
    (
        "INSERT INTO items (id, amount) VALUES (5, 50), (6, 60)",
        &[],
        false,
    ),
    (
        "INSERT INTO items (id, amount) SELECT id + ?, 1 FROM items",
        &[10],
        false,
    ),
    (
        "INSERT INTO items (id, amount) SELECT id + ?, 1 FROM items WHERE id < ?",
        &[10, 3],
        true,
    ),
];

/// Returns a pool with only one connection. A call waits for each response, because the proxy runs on the same thread.
async fn only_one() -> ((MariaDbServer, Proxy), MySqlPool) {
    let (server, _pool) = mariadb().await;
    let proxy = Proxy::start_bytes(server.port()).await.unwrap();
    let port = |number: u16| format!(":{number}/");
    let url = server
        .url()
        .replace(&port(server.port()), &port(proxy.port()));
    let only_one = MySqlPoolOptions::new().max_connections(1);
    let pool = only_one.connect(&url).await.unwrap();
    ((server, proxy), pool)
}

/// Returns the number of `SET` statements and of prepared statements in this session.
async fn counts<'c>(at: impl Executor<'c, Database = MySql>) -> (i64, i64) {
    let status =
        "SHOW SESSION STATUS WHERE Variable_name IN ('Com_set_option', 'Com_stmt_prepare')";
    let rows = sqlx::raw_sql(status).fetch_all(at).await.unwrap();
    let count = |at: usize| rows[at].get_unchecked::<String, _>(1).parse().unwrap();
    (count(0), count(1))
}

async fn raw(pool: &MySqlPool, sql: &'static str) {
    sqlx::raw_sql(sql).execute(pool).await.unwrap();
}

/// Returns the holders whose tokens the rows have, in the order of the rows.
async fn holders(pool: &MySqlPool) -> Vec<usize> {
    let tokens = sqlx::query_scalar("SELECT fencing_token FROM items ORDER BY id");
    let tokens: Vec<i64> = tokens.fetch_all(pool).await.unwrap();
    tokens.into_iter().map(number).collect()
}

#[tokio::test]
async fn the_server_prepares_a_write_once_for_all_tokens() {
    let (_servers, plain) = only_one().await;
    let pool = FencedPool::new(plain.clone());
    for (sql, values, sets) in STATEMENTS {
        for number in [3, 8] {
            raw(&plain, RESET).await;
            raw(&plain, OTHER).await;
            let before = counts(&plain).await;
            let mut write = sqlx::query(sql);
            for value in values {
                write = write.bind(value);
            }
            let written = held(number, write.execute(&pool)).await.unwrap();
            let after = counts(&plain).await;
            assert_eq!(after.0 - before.0, i64::from(sets), "{sql}");
            assert_eq!(after.1 - before.1, i64::from(number == 3), "{sql}");
            let tokens = holders(&plain).await;
            let with_token = tokens.iter().filter(|it| **it == number).count();
            match sql.starts_with("DELETE") {
                true => assert_eq!((with_token, tokens.len()), (0, 2), "{sql}"),
                false => assert_eq!(with_token as u64, written.rows_affected(), "{sql}"),
            }
            assert!(tokens.iter().all(|it| [0, number].contains(it)), "{sql}");
        }
        // The probe uses the same token.
        if !sql.starts_with("INSERT") {
            let newer = holder("items", 9).await.token().get();
            let newer = format!("{RESET}; UPDATE items SET fencing_token = {newer}");
            sqlx::raw_sql(AssertSqlSafe(newer))
                .execute(&plain)
                .await
                .unwrap();
            let mut late = sqlx::query(sql);
            for value in values {
                late = late.bind(value);
            }
            let late = held(8, late.execute(&pool)).await.map_err(Error::from);
            assert!(matches!(late, Err(Error::Stale(_))), "{sql}: {late:?}");
        }
    }
}

#[tokio::test]
async fn a_transaction_sets_the_variable_once_for_each_change_of_the_token() {
    let (_servers, plain) = only_one().await;
    sqlx::raw_sql("CREATE TABLE others LIKE items; INSERT INTO others VALUES (1, 10, 0)")
        .execute(&plain)
        .await
        .unwrap();
    let pool = FencedPool::new(plain.clone())
        .map_table("others", "other")
        .unwrap();
    let write = |sql: &'static str, id: i64| sqlx::query(sql).bind(7_i64).bind(id);
    let others = "UPDATE others SET amount = ? WHERE id = ?";
    let other = holder("other", 2).await;
    raw(&plain, OTHER).await;
    let mut tx = held(5, async { pool.begin().await }).await.unwrap();
    let before = counts(&mut *tx).await.0;
    for id in 1..4 {
        write(SET, id).execute(&mut *tx).await.unwrap();
    }
    assert_eq!(counts(&mut *tx).await.0 - before, 1);
    // sqlx loses a connection if a statement is dropped while it is prepared.
    let prepared = write(others, 1).execute(&mut *tx);
    other.handle().scope(prepared).await.unwrap();
    write(SET, 4).execute(&mut *tx).await.unwrap();
    for waits in 1.. {
        // The dropped call may have set the variable to the token of the other lock.
        let call = other.handle().scope(write(others, 1).execute(&mut *tx));
        let dropped = dropped_after(waits, call).await;
        write(SET, 4).execute(&mut *tx).await.unwrap();
        let token = "SELECT fencing_token FROM items WHERE id = 4";
        let token: i64 = sqlx::query_scalar(token).fetch_one(&mut *tx).await.unwrap();
        assert_eq!(number(token), 5, "after {waits}");
        if let Some(written) = dropped {
            assert!(waits > 2, "it never waited");
            written.unwrap();
            break;
        }
    }
    tx.commit().await.unwrap();
    assert_eq!(holders(&plain).await, [5; 4]);
    let token = sqlx::query_scalar("SELECT fencing_token FROM others");
    let token: i64 = token.fetch_one(&plain).await.unwrap();
    assert_eq!(token, other.token().get());
}

#[tokio::test]
async fn a_dropped_write_leaves_no_token_for_the_next_write() {
    let (_servers, plain) = only_one().await;
    let pool = FencedPool::new(plain.clone());
    let write = |amount: i64| sqlx::query(SET).bind(amount).bind(1_i64).execute(&pool);
    held(1, write(1)).await.unwrap();
    for waits in 1.. {
        raw(&plain, RESET).await;
        let dropped = held(8, dropped_after(waits, write(8))).await;
        let next = held(5, write(5)).await.map_err(Error::from);
        let row = "SELECT amount, fencing_token FROM items WHERE id = 1";
        let (amount, token): (i64, i64) = sqlx::query_as(row).fetch_one(&plain).await.unwrap();
        match next {
            Ok(_) => assert_eq!((amount, number(token)), (5, 5), "after {waits}"),
            Err(Error::Stale(_)) => assert_eq!((amount, number(token)), (8, 8), "after {waits}"),
            Err(other) => panic!("after {waits}: {other}"),
        }
        if let Some(written) = dropped {
            assert!(waits > 2, "it never waited");
            written.unwrap();
            break;
        }
    }
}

#[tokio::test]
async fn a_statement_that_names_the_variable_is_refused() {
    let (_servers, plain) = only_one().await;
    let pool = FencedPool::new(plain.clone());
    for sql in [
        "SELECT @leasehold_token := 1",
        "SELECT @Leasehold_TOKEN := 1",
        "SELECT @`leasehold_token` := 1",
        "UPDATE items SET amount = (@'leasehold_token' := 1)",
    ] {
        let refused = held(1, sqlx::query(sql).execute(&pool)).await;
        let refused = refused.map_err(Error::from);
        assert!(matches!(refused, Err(Error::Rewrite { .. })), "{refused:?}");
    }
    let column = sqlx::query_scalar("SELECT 1 AS leasehold_token");
    let column: i64 = column.fetch_one(&pool).await.unwrap();
    assert_eq!(column, 1);
}
