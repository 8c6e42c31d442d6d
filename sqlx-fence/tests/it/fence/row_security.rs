//! Row security of Postgres: a fence ignores rows that the role may not update.

use leasehold_sqlx::Error;
use leasehold_testkit::servers::PostgresServer;
use sqlx::PgPool;

use crate::fence::tools::{fence, postgres};

/// Creates items of which all but the first have newer tokens. A role may read all of them, and update the first two.
async fn guarded() -> (PostgresServer, PgPool, PgPool) {
    let (server, pool) = postgres().await;
    let schema = "CREATE ROLE app LOGIN; GRANT SELECT, UPDATE, DELETE ON items TO app; \
         ALTER TABLE items ENABLE ROW LEVEL SECURITY; \
         CREATE POLICY reads ON items FOR SELECT USING (true); \
         CREATE POLICY writes ON items FOR UPDATE USING (id < 3); \
         UPDATE items SET fencing_token = 9 WHERE id > 1";
    sqlx::raw_sql(schema).execute(&pool).await.unwrap();
    let url = server.url().replace("//postgres@", "//app@");
    let app = PgPool::connect(&url).await.unwrap();
    (server, pool, app)
}

#[tokio::test]
async fn on_postgres_row_without_update_permission_is_not_reported_as_stale() {
    let (_server, owner, app) = guarded().await;
    let sql = "UPDATE items AS i SET amount = 5 WHERE i.id = $1";
    let write = |id: i64| fence(7).query(sql).bind(id);

    let hidden = write(3).execute(&app).await.unwrap();
    assert_eq!(hidden.rows_affected(), 0);
    let missing = write(3).expect_rows(1).execute(&app).await;
    assert!(
        matches!(missing, Err(Error::NotFound { .. })),
        "{missing:?}"
    );
    let stale = write(2).execute(&app).await;
    assert!(matches!(stale, Err(Error::Stale(it)) if it.current.get() == 9));
    assert_eq!(write(1).execute(&app).await.unwrap().rows_affected(), 1);
    let all = "UPDATE items SET amount = 6 WHERE id > $1 AND id < $2";
    let partly = fence(7).query(all).bind(0_i64).bind(9_i64).expect_rows(4);
    let Err(Error::PartiallyStale {
        applied: 1,
        stale: 1,
    }) = partly.execute(&app).await
    else {
        panic!("the third and fourth are none of its rows");
    };

    // Policies do not apply to the owner.
    let stale = write(3).execute(&owner).await;
    assert!(matches!(stale, Err(Error::Stale(_))), "{stale:?}");
}

#[tokio::test]
async fn on_postgres_row_without_delete_permission_is_reported_as_stale() {
    let (_server, _owner, app) = guarded().await;
    let delete = fence(7).query("DELETE FROM items WHERE id = 3");
    // This is the limit: the role may not delete any row, but the row is reported as stale.
    let told = delete.execute(&app).await;
    assert!(matches!(told, Err(Error::Stale(_))), "{told:?}");
}
