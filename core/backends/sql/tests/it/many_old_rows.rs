//! Many old rows are deleted page after page, without further releases.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use sqlx::{Sqlite, query, query_scalar};
use tokio::time::{Instant, sleep};

use crate::sqlite::LockFile;

const PAGES: u32 = 5;
const ROWS: &str = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < $1) \
     INSERT INTO leasehold_locks SELECT 'old:' || n, 1, NULL, 1, 1, 1, 1, NULL, NULL FROM n";
/// Records when each old row is deleted. This is the same time for all rows of a statement.
const PAGES_TABLE: &str = "CREATE TABLE pages (at REAL)";
const PAGES_TRIGGER: &str = "CREATE TRIGGER deleted AFTER DELETE ON leasehold_locks \
     WHEN OLD.lock_key LIKE 'old:%' BEGIN INSERT INTO pages VALUES (julianday('now')); END";
const OLD: &str = "SELECT COUNT(*) FROM leasehold_locks WHERE lock_key LIKE 'old:%'";

/// The time limit, which is less than the interval between two pages without many old rows.
const SOON: Duration = Duration::from_secs(8);

#[tokio::test]
async fn many_old_rows_are_deleted_in_pages_with_pauses() {
    let file = LockFile::create().await;
    for sql in [PAGES_TABLE, PAGES_TRIGGER] {
        query(sql).execute(&file.pool).await.unwrap();
    }
    query(ROWS)
        .bind(PAGES * 1000)
        .execute(&file.pool)
        .await
        .unwrap();
    let backend = SqlBackend::<Sqlite>::new(file.pool.clone());
    let attempt = Attempt::new(
        Key::new("", "in use").unwrap(),
        Duration::from_secs(30),
        false,
    );
    let answer = backend.attempt(&attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    let started = Instant::now();
    backend.release(&attempt.claim(token)).await.unwrap();
    let mut left = i64::from(PAGES * 1000);
    while left > 0 {
        assert!(started.elapsed() < SOON, "{left} rows after {SOON:?}");
        sleep(Duration::from_millis(10)).await;
        left = query_scalar(OLD).fetch_one(&file.pool).await.unwrap();
    }
    // The pauses between the pages leave time for the application.
    let pages = query_scalar("SELECT COUNT(DISTINCT at) FROM pages");
    let pages: i64 = pages.fetch_one(&file.pool).await.unwrap();
    assert!(pages >= i64::from(PAGES), "{pages}");
    let least = Duration::from_millis(100) * (PAGES - 1);
    assert!(started.elapsed() >= least, "{:?}", started.elapsed());
}
