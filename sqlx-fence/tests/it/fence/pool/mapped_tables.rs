//! Tables that are mapped to the keys of their locks.

use leasehold::LockManager;
use leasehold_sqlx::{Error, FencedPool, ddl};
use sqlx::{AssertSqlSafe, Database, Postgres, Sqlite};

use super::holder;
use crate::fence::tools::{mariadb, postgres, sqlite};

/// Each pair has the statement's table, and the token with which the row must be written.
macro_rules! written {
    ($plain:expr, $pool:expr, $cases:expr) => {
        let (order, account) = (holder("order:42", 3).await, holder("account:7", 8).await);
        for (table, number) in $cases {
            let token = if number == 3 {
                order.token()
            } else {
                account.token()
            };
            let insert = format!("INSERT INTO {table} (id) VALUES (1)");
            sqlx::query(AssertSqlSafe(insert))
                .execute(&$plain)
                .await
                .unwrap();
            let update = format!("UPDATE {table} SET id = 1 WHERE id = 1");
            let update = sqlx::query(AssertSqlSafe(update)).execute(&$pool);
            order
                .handle()
                .scope(account.handle().scope(update))
                .await
                .unwrap();
            let delete = format!("DELETE FROM {table} WHERE fencing_token = {}", token.get());
            let done = sqlx::query(AssertSqlSafe(delete))
                .execute(&$plain)
                .await
                .unwrap();
            assert_eq!(done.rows_affected(), 1, "{table}");
        }
    };
}

/// Creates tables with a column `id` and a token.
macro_rules! create {
    ($plain:expr, $tables:expr) => {
        for table in $tables {
            let create = format!("CREATE TABLE {table} (id BIGINT)");
            sqlx::raw_sql(AssertSqlSafe(create))
                .execute(&$plain)
                .await
                .unwrap();
            ddl::add_column(&$plain, table).await.unwrap();
        }
    };
}

#[tokio::test]
async fn on_sqlite_mapped_tables_match_in_any_case_and_with_any_schema() {
    let plain = sqlite().await;
    create!(plain, ["orders", "others", "\"my accounts\""]);
    let pool = FencedPool::new(plain.clone());
    let pool = pool.map_table("Orders", "order:*").unwrap();
    let pool = pool.map_table("main.\"my accounts\"", "account:7").unwrap();
    written!(
        plain,
        pool,
        [
            ("orders", 3),
            ("ORDERS", 3),
            ("main.orders", 3),
            ("[orders]", 3),
            ("`Orders`", 3),
            ("\"my accounts\"", 8),
            ("main.\"My Accounts\"", 8),
            ("others", 8),
        ]
    );
}

#[tokio::test]
async fn on_postgres_mapped_tables_match_like_names_of_the_database() {
    let (_server, plain) = postgres().await;
    sqlx::raw_sql("CREATE SCHEMA shop")
        .execute(&plain)
        .await
        .unwrap();
    let tables = ["orders", "others", "shop.orders", "\"Orders\"", "accounts"];
    create!(plain, tables);
    let pool = FencedPool::new(plain.clone());
    let pool = pool.map_table("shop.Orders", "order:*").unwrap();
    let pool = pool.map_table("\"Orders\"", "order:*").unwrap();
    let pool = pool.map_table("Accounts", "account:*").unwrap();
    written!(
        plain,
        pool,
        [
            ("shop.orders", 3),
            ("SHOP.\"orders\"", 3),
            // Only a search path could say which one it is.
            ("orders", 3),
            ("\"Orders\"", 3),
            ("public.\"Orders\"", 3),
            ("public.orders", 8),
            ("accounts", 8),
            ("public.ACCOUNTS", 8),
            ("others", 8),
        ]
    );
    // Of two mapped tables, the name alone does not say which one it is.
    let pool = pool.map_table("public.orders", "account:*").unwrap();
    written!(plain, pool, [("public.orders", 8), ("shop.orders", 3)]);
    let unclear = sqlx::query("DELETE FROM orders").execute(&pool).await;
    let unclear = unclear.map_err(Error::from);
    assert!(
        matches!(&unclear, Err(Error::Name { what: "table", name, .. }) if name == "orders"),
        "{unclear:?}"
    );
}

#[tokio::test]
async fn on_mariadb_mapped_tables_match_in_any_case() {
    let (_server, plain) = mariadb().await;
    create!(plain, ["orders", "others", "`my accounts`"]);
    let pool = FencedPool::new(plain.clone());
    let pool = pool.map_table("orders", "order:42").unwrap();
    let pool = pool.map_table("test.`My Accounts`", "account:*").unwrap();
    written!(
        plain,
        pool,
        [
            ("orders", 3),
            ("test.`orders`", 3),
            ("`my accounts`", 8),
            ("others", 8)
        ]
    );
    // The table that a statement over several tables writes to.
    let joined = "UPDATE items AS i JOIN orders AS o ON o.id = i.id SET o.id = 5 WHERE i.id = 1";
    sqlx::query("INSERT INTO orders (id) VALUES (1)")
        .execute(&plain)
        .await
        .unwrap();
    let (order, account) = (holder("order:42", 3).await, holder("account:7", 8).await);
    let joined = sqlx::query(joined).execute(&pool);
    order
        .handle()
        .scope(account.handle().scope(joined))
        .await
        .unwrap();
    let read = sqlx::query_scalar("SELECT fencing_token FROM orders WHERE id = 5");
    let token: i64 = read.fetch_one(&plain).await.unwrap();
    assert_eq!(token, order.token().get());
}

#[tokio::test]
async fn write_without_a_matching_lock_names_table_pattern_and_held_keys() {
    let pool = FencedPool::new(sqlite().await);
    let pool = pool.map_table("items", "item:*").unwrap();
    let write = || async {
        let write = sqlx::query("UPDATE items SET amount = 0 WHERE id = 1").execute(&pool);
        write.await.map(drop).map_err(Error::from)
    };
    let (first, second) = (holder("order:1", 1).await, holder("account:2", 1).await);
    let refused = first.handle().scope(second.handle().scope(write())).await;
    let Err(Error::WrongKey {
        table,
        pattern,
        held,
    }) = &refused
    else {
        panic!("{refused:?}")
    };
    assert_eq!((table.as_str(), pattern.as_str()), ("items", "item:*"));
    assert_eq!(*held, ["account:2", "order:1"]);
    let message = "writing `items` needs a lock on `item:*`, but this task holds `account:2`, `order:1`: acquire the \
                   lock of the row, and write inside of its `run`";
    assert_eq!(refused.unwrap_err().to_string(), message);
    let none = write().await;
    assert!(
        matches!(none, Err(Error::Lock(leasehold::Error::NoCurrentLock(_)))),
        "{none:?}"
    );

    // Locks that were acquired together have no innermost one, but the table says which one it is.
    let set = LockManager::in_process()
        .lock_all(["item:1", "order:1"])
        .acquire()
        .await
        .unwrap();
    set.run(async |_| write().await).await.unwrap();
    let unmapped = FencedPool::new(pool.inner().clone());
    let write = sqlx::query("UPDATE items SET amount = 0 WHERE id = 2");
    let several = set
        .run(async |_| Ok::<_, Error>(write.execute(&unmapped).await?))
        .await;
    assert!(
        matches!(
            several,
            Err(Error::Lock(leasehold::Error::NoCurrentLock(_)))
        ),
        "{several:?}"
    );
}

/// Returns the kind of the name and the remedy with which it is refused.
fn refused<DB: leasehold_sqlx::FencedDatabase + Database>(
    pool: sqlx::Pool<DB>,
    table: &str,
    key: &str,
) -> (&'static str, &'static str) {
    match FencedPool::new(pool).map_table(table, key) {
        Err(Error::Name { what, remedy, .. }) => (what, remedy),
        other => panic!("{table}, {key}: {other:?}"),
    }
}

#[tokio::test]
async fn map_table_refuses_invalid_table_names_and_key_patterns() {
    let lite = sqlx::SqlitePool::connect_lazy("sqlite::memory:").unwrap();
    let big = sqlx::PgPool::connect_lazy("postgres://nowhere").unwrap();
    for table in ["", "a b", "a.b.c", "orders; --", "\"open"] {
        assert_eq!(refused::<Sqlite>(lite.clone(), table, "order:*").0, "table");
        assert_eq!(
            refused::<Postgres>(big.clone(), table, "order:*").0,
            "table"
        );
    }
    for key in ["", "*", "order:**", "*:42", "order:*:line"] {
        assert_eq!(
            refused::<Sqlite>(lite.clone(), "orders", key).0,
            "key pattern"
        );
    }
    let once = FencedPool::new(lite)
        .map_table("orders", "order:*")
        .unwrap();
    let twice = once.map_table("ORDERS", "account:*");
    assert!(
        matches!(twice, Err(Error::Name { what: "table", .. })),
        "{twice:?}"
    );
    assert!(FencedPool::new(big.clone()).with_column("Token").is_err());
    assert!(FencedPool::new(big).with_column("own_token").is_ok());
}
