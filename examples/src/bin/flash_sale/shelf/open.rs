use std::str::FromStr;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Connection, Database, MySql, Pool, Postgres, Sqlite};

use super::item::Shelf;
use super::table::Table;

/// The reason why the shop's database cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(
        "`{scheme}://` is not a database of this shop; use postgres://…, mysql://… or sqlite://…"
    )]
    UnknownScheme { scheme: String },
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
}

/// Opens the shelf in the database at `url`.
pub(crate) async fn open(url: &str) -> Result<Box<dyn Shelf>, OpenError> {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    // The rest of the URL is not shown, because it may contain a password.
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    let scheme = Some(scheme).filter(|scheme| scheme.chars().all(is_word));
    let scheme = scheme.unwrap_or_default();
    Ok(match scheme {
        "postgres" | "postgresql" => Box::new(Table::<Postgres>::new(pool(url).await?)),
        "mysql" | "mariadb" => Box::new(Table::<MySql>::new(pool(url).await?)),
        "sqlite" => Box::new(Table::<Sqlite>::new(sqlite(url).await?)),
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
