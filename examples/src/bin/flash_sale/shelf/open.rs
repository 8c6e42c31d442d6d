use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Connection, Database, MySql, Pool, Postgres};

use super::item::{Stall, Tables};

/// The reason why the shop's database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(
        "`{scheme}://` is not a database of this shop; use postgres://…, mysql://… or sqlite:…"
    )]
    UnknownScheme { scheme: String },
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
}

/// Opens the tables in the database at `url`.
pub(crate) async fn open(url: &str) -> Result<Arc<dyn Tables>, OpenError> {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    // The rest of the URL is not shown, because it may contain a password.
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let scheme = Some(scheme).filter(|scheme| scheme.chars().all(is_word));
    let scheme = scheme.unwrap_or_default();
    Ok(match scheme {
        "postgres" | "postgresql" => Arc::new(pool::<Postgres>(url).await?),
        "mysql" | "mariadb" => Arc::new(pool::<MySql>(url).await?),
        "sqlite" => Arc::new(sqlite(url).await?),
        _ => {
            let scheme = scheme.chars().take(32).collect();
            return Err(OpenError::UnknownScheme { scheme });
        }
    })
}

/// Opens a pool, after a test with one connection. Without a server, a pool retries for half a minute and does not
/// return the cause, but a connection returns it immediately.
async fn pool<DB: Database>(url: &str) -> sqlx::Result<Pool<DB>> {
    DB::Connection::connect(url).await?.close().await?;
    Pool::connect(url).await
}

async fn sqlite(url: &str) -> sqlx::Result<SqlitePool> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Off);
    SqlitePool::connect_with(options).await
}

/// Opens another pool, with one connection, that waits for `stall` before it hands out that connection again. A fenced
/// pool has checked the lock by then, and has not sent anything.
pub(super) fn stalling<DB: Database>(pool: &Pool<DB>, stall: Stall) -> Pool<DB> {
    let options = pool.options().clone().max_connections(1);
    let options = options.acquire_timeout(Duration::from_secs(60));
    // sqlx does not call this for a new connection.
    let options = options.before_acquire(move |_, _| {
        let stall = stall();
        Box::pin(async {
            stall.await;
            Ok(true)
        })
    });
    options.connect_lazy_with((*pool.connect_options()).clone())
}
