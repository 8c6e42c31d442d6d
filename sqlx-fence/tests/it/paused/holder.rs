//! The holder that a test stops.

use std::io::BufRead;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_sqlx::{Error, Fence};
use sqlx::{MySqlPool, PgPool, SqlitePool};

/// The environment variable with the role of this process: `statement redis://… postgres://…`.
pub(crate) const ROLE: &str = "LEASEHOLD_SQLX_ROLE";

/// This is not a test by itself. The tests start it in another process and stop it.
#[tokio::test(flavor = "multi_thread")]
async fn holder_process() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let words: Vec<&str> = role.split(' ').collect();
    let [role, locks, database] = words[..] else {
        panic!("{role}")
    };
    let locks = LockManager::connect(locks).await.unwrap();
    let lock = locks.lock("item:1").ttl(Duration::from_secs(1));
    let guard = lock.acquire().await.unwrap();
    let fence = Fence::new(guard.token());
    let is_statement = role == "statement";
    match database.split_once(':').unwrap().0 {
        "postgres" => holds!(PgPool, fence, database, is_statement),
        "mysql" => holds!(MySqlPool, fence, database, is_statement),
        _ => holds!(SqlitePool, fence, database, is_statement),
    }
}

fn ordered() -> String {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).unwrap();
    line
}

fn say<T>(done: Result<T, Error>, well: &str) {
    match done {
        Ok(_) => println!("\nA: {well}"),
        Err(Error::Stale(_)) => println!("\nA: stale"),
        Err(error) => println!("\nA: {error}: {error:?}"),
    }
}

macro_rules! holds {
    ($Pool:ty, $fence:expr, $database:expr, $is_statement:expr) => {{
        let pool = <$Pool>::connect($database).await.unwrap();
        let write = "UPDATE items SET writer = 'A' WHERE id = 1";
        if $is_statement {
            println!("\nA holds");
            ordered();
            say($fence.query(write).execute(&pool).await, "written");
        } else {
            let mut tx = $fence.begin(&pool, "item:1").await.unwrap();
            sqlx::query(write).execute(&mut *tx).await.unwrap();
            println!("\nA holds");
            ordered();
            say(tx.commit().await.map_err(Error::from), "committed");
            ordered();
            say($fence.begin(&pool, "item:1").await, "let in");
        }
    }};
}

use holds;
