//! The column and the table: made once, however often and by however many.

use leasehold_sqlx::{Error, ddl};

use crate::tools::{fence, mariadb, postgres, sqlite};

/// The same on each database.
macro_rules! migrations {
    ($pool:expr, $bare:literal) => {
        let pool = $pool;
        sqlx::raw_sql("DROP TABLE fences; CREATE TABLE bare (id BIGINT PRIMARY KEY); INSERT INTO bare VALUES (1)")
            .execute(&pool)
            .await
            .unwrap();
        let tasks: Vec<_> = (0..6)
            .map(|_| {
                let pool = pool.clone();
                tokio::spawn(async move {
                    ddl::create_fences(&pool).await?;
                    ddl::add_column(&pool, $bare).await?;
                    ddl::add_column_named(&pool, "bare", "epoch").await
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap().unwrap();
        }
        fence(3).query("UPDATE bare SET id = 2").expect_rows(1).execute(&pool).await.unwrap();
        let again = fence(2).query("UPDATE bare SET id = 3").execute(&pool).await;
        assert!(matches!(again, Err(Error::Stale(_))), "{again:?}");
        fence(3).begin(&pool, "a").await.unwrap().commit().await.unwrap();
        ddl::create_fences(&pool).await.unwrap();
        let kept = fence(2).begin(&pool, "a").await;
        assert!(matches!(kept, Err(Error::Stale(_))), "{kept:?}");

        assert!(matches!(ddl::add_column(&pool, "nowhere").await, Err(Error::Sqlx(_))));
        for bad in ["", "a b", "bare; DROP TABLE bare", "a.b.c", "\"bare\"", ".bare"] {
            let refused = ddl::add_column(&pool, bad).await;
            assert!(matches!(refused, Err(Error::Name { what: "table", .. })), "{bad:?}");
        }
        let refused = ddl::add_column_named(&pool, "bare", "x y").await;
        assert!(matches!(refused, Err(Error::Name { what: "column", .. })), "{refused:?}");
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite() {
    migrations!(sqlite().await, "main.bare");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_postgres() {
    let (_server, pool) = postgres().await;
    migrations!(pool, "public.bare");
}

#[tokio::test(flavor = "multi_thread")]
async fn on_mariadb() {
    let (_server, pool) = mariadb().await;
    migrations!(pool, "test.bare");
}
