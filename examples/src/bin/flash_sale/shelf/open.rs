use std::str::FromStr;

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqliteSynchronous};
use sqlx::{Connection, Database, MySql, Pool, Postgres, Sqlite};

use super::item::Shelf;
use super::table::Table;

/// Why there is no shop.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error(
        "`{scheme}://` is no database of this shop; give postgres://…, mysql://… or sqlite://…"
    )]
    UnknownScheme { scheme: String },
    #[error("the database cannot be opened")]
    Database(#[from] sqlx::Error),
}

/// The shelf in the database at `url`.
pub(crate) async fn open(url: &str) -> Result<Box<dyn Shelf>, OpenError> {
    let is_word = |c: char| c.is_ascii_alphanumeric();
    // What else there is may hold a password, and is not repeated.
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

/// A pool goes on for half a minute where nobody listens, and does not say why. One connection says it at once.
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
