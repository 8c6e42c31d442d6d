//! The late write of an older holder, which still sees its lock as valid.

use leasehold_sqlx::{Error, FencedPool};

use super::{held, number};
use crate::fence::tools::{mariadb, postgres, sqlite};

/// The same on each database.
macro_rules! late {
    ($plain:expr, $set:literal, $add:literal, $delete:literal) => {
        let plain = $plain;
        let pool = FencedPool::new(plain.clone());
        let read = "SELECT amount, fencing_token FROM items WHERE id = 1";
        let read = async || -> (i64, usize) {
            let (amount, token): (i64, i64) = sqlx::query_as(read).fetch_one(&plain).await.unwrap();
            (amount, number(token))
        };
        let set = |amount: i64| sqlx::query($set).bind(amount);

        // The older holder is paused, the newer one writes, and the older one continues.
        held(3, set(3).execute(&pool)).await.unwrap();
        held(5, set(5).execute(&pool)).await.unwrap();
        let late = held(3, set(30).execute(&pool)).await.map_err(Error::from);
        let Err(Error::Stale(stale)) = late else {
            panic!("{late:?}")
        };
        assert_eq!(
            (number(stale.token.get()), number(stale.current.get())),
            (3, 5)
        );
        assert_eq!(read().await, (5, 5));
        let late = held(3, sqlx::query($delete).execute(&pool))
            .await
            .map_err(Error::from);
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");

        // A row that the newer holder has inserted.
        let added = held(5, sqlx::query($add).bind(9_i64).execute(&pool))
            .await
            .unwrap();
        assert_eq!(added.rows_affected(), 1);
        let late = sqlx::query("UPDATE items SET amount = 0 WHERE id = 9").execute(&pool);
        let late = held(3, late).await.map_err(Error::from);
        assert!(matches!(late, Err(Error::Stale(_))), "{late:?}");

        // The control: the plain pool overwrites.
        held(3, set(30).execute(&plain)).await.unwrap();
        assert_eq!(read().await, (30, 5));
    };
}

#[tokio::test]
async fn on_sqlite_late_write_of_an_older_holder_is_refused() {
    late!(
        sqlite().await,
        "UPDATE items SET amount = ? WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES (?, 90)",
        "DELETE FROM items WHERE id = 1"
    );
}

#[tokio::test]
async fn on_postgres_late_write_of_an_older_holder_is_refused() {
    let (_server, plain) = postgres().await;
    late!(
        plain,
        "UPDATE items SET amount = $1 WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES ($1, 90)",
        "DELETE FROM items WHERE id = 1"
    );
}

#[tokio::test]
async fn on_mariadb_late_write_of_an_older_holder_is_refused() {
    let (_server, plain) = mariadb().await;
    late!(
        plain,
        "UPDATE items SET amount = ? WHERE id = 1",
        "INSERT INTO items (id, amount) VALUES (?, 90)",
        "DELETE FROM items WHERE id = 1"
    );
}
