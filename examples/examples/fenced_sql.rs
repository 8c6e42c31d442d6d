//! Late writes that a database refuses: Postgres, `MySQL` or `MariaDB`, `SQLite`.
//!
//! One holder of a lock is late, and the next holder has already written. The example shows two ways, in the SQL of
//! each database. One is a single fenced statement without additional cost. The other is a transaction that claims the
//! resource first, for code that reads and then writes.
//!
//! Run it with `cargo run --example fenced_sql` (`SQLite`, in memory), or pass a database:
//! `-- postgres://user:password@localhost/shop`, `-- mysql://root@localhost/shop`. It creates the table
//! `leasehold_example`, and `leasehold_fences` if it does not exist. Try: write with the older fence first.

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use leasehold::LockManager;
use leasehold_sqlx::{Error, Fence, FencedDatabase, ddl};
use sqlx::mysql::MySqlPool;
use sqlx::postgres::PgPool;
use sqlx::sqlite::{SqlitePool, SqlitePoolOptions};
use sqlx::{Executor, Pool};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

const TABLE: [&str; 3] = [
    "DROP TABLE IF EXISTS leasehold_example",
    "CREATE TABLE leasehold_example (id BIGINT PRIMARY KEY, state VARCHAR(20) NOT NULL)",
    "INSERT INTO leasehold_example VALUES (42, 'new')",
];

/// The state of the order, and the errors of the late holder.
type Outcome = (String, [Error; 2]);

async fn on_sqlite(db: &SqlitePool, late: &Fence, next: &Fence) -> Result<Outcome, BoxError> {
    let pay = "UPDATE leasehold_example SET state = 'paid' WHERE id = ?";
    next.query(pay).bind(42).execute(db).await?;
    let mut tx = next.begin(db, "leasehold_example:42").await?;
    let state: String = sqlx::query_scalar("SELECT state FROM leasehold_example WHERE id = ?")
        .bind(42)
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    let refused = late.query(pay).bind(42).execute(db).await;
    let claim = late.begin(db, "leasehold_example:42").await;
    Ok((state, refusals(refused, claim)?))
}

async fn on_postgres(db: &PgPool, late: &Fence, next: &Fence) -> Result<Outcome, BoxError> {
    let pay = "UPDATE leasehold_example SET state = 'paid' WHERE id = $1";
    next.query(pay).bind(42_i64).execute(db).await?;
    let mut tx = next.begin(db, "leasehold_example:42").await?;
    let state: String = sqlx::query_scalar("SELECT state FROM leasehold_example WHERE id = $1")
        .bind(42_i64)
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    let refused = late.query(pay).bind(42_i64).execute(db).await;
    let claim = late.begin(db, "leasehold_example:42").await;
    Ok((state, refusals(refused, claim)?))
}

async fn on_mysql(db: &MySqlPool, late: &Fence, next: &Fence) -> Result<Outcome, BoxError> {
    let pay = "UPDATE leasehold_example SET state = 'paid' WHERE id = ?";
    next.query(pay).bind(42).execute(db).await?;
    let mut tx = next.begin(db, "leasehold_example:42").await?;
    let state: String = sqlx::query_scalar("SELECT state FROM leasehold_example WHERE id = ?")
        .bind(42)
        .fetch_one(&mut *tx)
        .await?;
    tx.commit().await?;
    let refused = late.query(pay).bind(42).execute(db).await;
    let claim = late.begin(db, "leasehold_example:42").await;
    Ok((state, refusals(refused, claim)?))
}

fn refusals<T, U>(
    write: Result<T, Error>,
    claim: Result<U, Error>,
) -> Result<[Error; 2], BoxError> {
    match (write, claim) {
        (Err(write), Err(claim)) => Ok([write, claim]),
        _ => Err("a write of the late holder was not refused".into()),
    }
}

/// Creates the table, as migrations would do.
async fn prepared<DB: FencedDatabase>(db: &Pool<DB>) -> Result<(), BoxError>
where
    for<'c> &'c mut DB::Connection: Executor<'c, Database = DB>,
{
    let mut connection = db.acquire().await?;
    for statement in TABLE {
        connection.execute(statement).await?;
    }
    drop(connection);
    ddl::add_column(db, "leasehold_example").await?;
    ddl::create_fences(db).await?;
    Ok(())
}

async fn run(database: &str) -> Result<Outcome, BoxError> {
    let locks = LockManager::in_process();
    let fence = async || {
        Ok::<_, leasehold::Error>(Fence::new(locks.lock("order:42").acquire().await?.token()))
    };
    // The first guard is dropped before the second lock is acquired, so the first fence is late.
    let (late, next) = (fence().await?, fence().await?);
    match database.split_once(':').map_or("", |(scheme, _)| scheme) {
        "postgres" | "postgresql" => {
            let db = PgPool::connect(database).await?;
            prepared(&db).await?;
            on_postgres(&db, &late, &next).await
        }
        "mysql" | "mariadb" => {
            let db = MySqlPool::connect(database).await?;
            prepared(&db).await?;
            on_mysql(&db, &late, &next).await
        }
        "sqlite" => {
            // One connection, because each connection has its own in-memory database.
            let db = SqlitePoolOptions::new()
                .max_connections(1)
                .connect(database)
                .await?;
            prepared(&db).await?;
            on_sqlite(&db, &late, &next).await
        }
        _ => Err(format!("{database:?} is not a postgres://, mysql:// or sqlite: database").into()),
    }
}

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let database = std::env::args().nth(1);
    let (state, refused) = run(database.as_deref().unwrap_or("sqlite::memory:")).await?;
    println!("the order is {state}");
    for error in refused {
        println!("the late holder: {error}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use leasehold_testkit::servers::{MariaDbServer, PostgresServer};

    use super::*;
    use leasehold::chaos::Chaos;

    async fn assert_refused(database: &str) {
        let (state, refused) = run(database).await.unwrap();
        assert_eq!(state, "paid");
        assert!(
            refused.iter().all(|it| matches!(it, Error::Stale(_))),
            "{refused:?}"
        );
    }

    #[tokio::test]
    async fn sqlite_refuses_the_late_holder() {
        assert_refused("sqlite::memory:").await;
    }

    #[tokio::test]
    async fn postgres_refuses_the_late_holder() {
        let server = PostgresServer::start().await.unwrap();
        assert_refused(&server.url()).await;
    }

    #[tokio::test]
    async fn mariadb_refuses_the_late_holder() {
        let server = MariaDbServer::start().await.unwrap();
        assert_refused(&server.url()).await;
    }

    #[tokio::test]
    async fn unsupported_database_is_named_in_the_error() {
        let refused = run("oracle://x").await.unwrap_err();
        assert!(refused.to_string().contains("oracle://x"));
    }

    /// Each holder writes its token as the state.
    #[leasehold::chaos_test]
    async fn state_is_never_older_than_a_confirmed_write_despite_faults(chaos: Chaos) {
        let open = async {
            // A paused client may keep a connection.
            let db = SqlitePoolOptions::new()
                .min_connections(4)
                .max_connections(4);
            let db = db.connect("sqlite::memory:").await?;
            prepared(&db).await?;
            Ok::<_, BoxError>(db)
        };
        let db = chaos.outside(open).await.unwrap();
        let pay = async |locks: LockManager| {
            let guard = locks.lock("order:42").acquire().await?;
            let token = guard.token().get();
            tokio::task::yield_now().await;
            Fence::new(guard.token())
                .query("UPDATE leasehold_example SET state = ? WHERE id = 42")
                .bind(token.to_string())
                .execute(&db)
                .await?;
            Ok::<_, Error>(token)
        };
        let confirmed = chaos.clients(3, pay).await.into_iter().flatten().flatten();
        let state: String = sqlx::query_scalar("SELECT state FROM leasehold_example WHERE id = 42")
            .fetch_one(&db)
            .await
            .unwrap();
        let state: i64 = state.parse().unwrap_or_default();
        assert!(confirmed.max().is_none_or(|newest| newest <= state));
    }
}
