//! Tests which problem a database error becomes.

use std::time::Duration;

use leasehold::LockManager;
use leasehold_sqlx::{Error, Fence, FencedPool, FencingToken, Stale, ddl};
use leasehold_tower::{Problem, ProblemKind};
use sqlx::sqlite::SqlitePoolOptions;
use sqlx::{SqlitePool, query};

async fn database() -> SqlitePool {
    let options = SqlitePoolOptions::new().max_connections(1);
    let pool = options.connect("sqlite::memory:").await.unwrap();
    let table = "CREATE TABLE s3cret (id INTEGER PRIMARY KEY); INSERT INTO s3cret VALUES (1), (2); \
         CREATE TABLE s3cret_text (fencing_token TEXT)";
    sqlx::raw_sql(table).execute(&pool).await.unwrap();
    ddl::add_column(&pool, "s3cret").await.unwrap();
    ddl::create_fences(&pool).await.unwrap();
    pool
}

fn fence(token: i64) -> Fence {
    Fence::try_from(token).unwrap()
}

/// Returns errors of all kinds, each with the expected kind of its problem.
async fn table() -> Vec<(Error, ProblemKind)> {
    let pool = database().await;
    let execute = async |token, sql: &'static str, rows| {
        let write = fence(token).query(sql).expect_rows(rows);
        write.execute(&pool).await.unwrap_err()
    };
    let (one, all) = (
        "UPDATE s3cret SET id = 1 WHERE id = 1",
        "UPDATE s3cret SET id = id",
    );
    fence(5).query(one).execute(&pool).await.unwrap();
    let newer = Stale {
        token: FencingToken::try_from(4).unwrap(),
        current: FencingToken::try_from(5).unwrap(),
    };
    let busy = Error::Busy {
        resource: "s3cret".to_owned(),
        limit: Duration::ZERO,
    };
    let recorded = Error::AlreadyRecorded {
        key: "s3cret".to_owned(),
    };
    let unbound = fence(5).query("UPDATE s3cret SET id = ?");
    vec![
        (newer.into(), ProblemKind::Stale),
        (execute(4, one, 1).await, ProblemKind::Stale),
        (execute(4, all, 2).await, ProblemKind::Stale),
        (execute(5, all, 3).await, ProblemKind::NotFound),
        (execute(5, all, 1).await, ProblemKind::Misconfigured),
        (
            execute(5, "INSERT INTO s3cret VALUES (3)", 1).await,
            ProblemKind::Misconfigured,
        ),
        (
            unbound.execute(&pool).await.unwrap_err(),
            ProblemKind::Misconfigured,
        ),
        (
            ddl::add_column(&pool, "s3cret_text").await.unwrap_err(),
            ProblemKind::Misconfigured,
        ),
        (
            ddl::add_column(&pool, "s3cret table").await.unwrap_err(),
            ProblemKind::Misconfigured,
        ),
        (
            fence(5).begin(&pool, "s3cret\0").await.unwrap_err(),
            ProblemKind::InvalidKey,
        ),
        (busy, ProblemKind::Contended),
        (recorded, ProblemKind::Contended),
        (
            execute(5, "UPDATE s3cret_none SET id = 1", 1).await,
            ProblemKind::OutcomeUnknown,
        ),
        (sqlx::Error::RowNotFound.into(), ProblemKind::NotFound),
        (
            without_a_lock(&pool, None).await,
            ProblemKind::Misconfigured,
        ),
        (
            without_a_lock(&pool, Some("s3cret")).await,
            ProblemKind::Misconfigured,
        ),
    ]
}

/// Writes through a fenced pool without a lock, or with the lock of another key.
async fn without_a_lock(pool: &SqlitePool, held: Option<&str>) -> Error {
    let pool = FencedPool::new(pool.clone())
        .map_table("s3cret", "other")
        .unwrap();
    let write = query("UPDATE s3cret SET id = id").execute(&pool);
    let refused = match held {
        None => write.await,
        Some(key) => {
            let guard = LockManager::in_process().lock(key).acquire().await.unwrap();
            guard.handle().scope(write).await
        }
    };
    refused.unwrap_err().into()
}

#[tokio::test]
async fn each_database_error_becomes_a_problem_without_its_text() {
    for (error, kind) in table().await {
        let said = error.to_string();
        let problem = Problem::from(error);
        assert_eq!(problem.kind(), kind, "{said}");
        assert_eq!(problem.status(), kind.status(), "{said}");
        let body = problem.clone().into_http().into_body();
        let told = format!("{problem} {problem:?} {}", String::from_utf8_lossy(&body));
        assert!(!told.contains("s3cret"), "{told}");
    }
}

#[tokio::test]
async fn fence_error_inside_an_error_of_sqlx_becomes_the_same_problem() {
    for (error, kind) in table().await {
        let said = error.to_string();
        let problem = Problem::from(sqlx::Error::from(error));
        assert_eq!(problem.kind(), kind, "{said}");
    }
}

/// Writes like a handler without a layer, which uses `?`.
async fn count(pool: &SqlitePool, token: i64, resource: &str) -> Result<u64, Problem> {
    let mut tx = fence(token).begin(pool, resource).await?;
    let deleted = query("DELETE FROM s3cret").execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(deleted.rows_affected())
}

#[tokio::test]
async fn question_mark_operator_converts_database_errors_to_problems() {
    let pool = database().await;
    assert_eq!(count(&pool, 2, "s3cret").await.unwrap(), 2);
    let stale = count(&pool, 1, "s3cret").await.unwrap_err();
    assert_eq!(stale.status(), 412);
    pool.close().await;
    let failed = count(&pool, 3, "s3cret").await.unwrap_err();
    assert_eq!(failed.status(), 500);
}
