//! The URLs that `LockManager::connect` knows.

use leasehold_core::backend::support::schemes;
use leasehold_core::backend::{ConnectOptions, Connector, URL_BACKENDS, UrlBackend};
use linkme::distributed_slice;

use crate::{CAPABILITIES, LockDatabase, SqlBackend};

#[cfg(feature = "mysql")]
#[distributed_slice(URL_BACKENDS)]
static MYSQL: UrlBackend = UrlBackend {
    schemes: schemes::MYSQL,
    connector: connector::<sqlx::MySql>,
};

#[cfg(feature = "postgres")]
#[distributed_slice(URL_BACKENDS)]
static POSTGRES: UrlBackend = UrlBackend {
    schemes: schemes::POSTGRES,
    connector: connector::<sqlx::Postgres>,
};

#[cfg(feature = "sqlite")]
#[distributed_slice(URL_BACKENDS)]
static SQLITE: UrlBackend = UrlBackend {
    schemes: schemes::SQLITE,
    connector: connector::<sqlx::Sqlite>,
};

fn connector<DB: LockDatabase>(url: &str, options: &ConnectOptions) -> Connector {
    let (url, max_connections) = (url.to_owned(), options.max_connections);
    Connector::new(CAPABILITIES, move || {
        let url = url.clone();
        async move { SqlBackend::<DB>::open(&url, max_connections).await }
    })
}
