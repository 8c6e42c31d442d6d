//! Finds a pooler in transaction mode, which executes the statements of one client on several connections to the server.

use sqlx::{PgConnection, Row, raw_sql};

/// Returns the server's process. A pooler in transaction mode uses one process for several connections, or several
/// processes for one connection.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// The number of checks that find such a pooler even if other clients use it at the same time.
const CHECKS: usize = 20;

/// Returns whether two connections of a client reach the server through a pooler in transaction mode.
pub(crate) async fn is_between(
    one: &mut PgConnection,
    other: &mut PgConnection,
) -> Result<bool, sqlx::Error> {
    let mut first = None;
    for _ in 0..CHECKS {
        let seen = (backend(one).await?, backend(other).await?);
        if seen.0 == seen.1 || *first.get_or_insert(seen) != seen {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn backend(connection: &mut PgConnection) -> Result<i32, sqlx::Error> {
    raw_sql(BACKEND).fetch_one(connection).await?.try_get(0)
}
