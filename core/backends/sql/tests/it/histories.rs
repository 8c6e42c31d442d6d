//! Random histories of one key, compared with the specification. See [`leasehold_histories`].

use std::sync::LazyLock;
use std::time::Duration;

use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Backend, Claim};
use leasehold_histories::{Id, Once, PROCESSES, Permits, Place, ReadWrite, histories, process};
use sqlx::{MySql, Postgres, Sqlite};
use tokio::runtime::{Builder, Runtime};
use tokio::time::sleep;

/// A waiter must confirm its grant within two seconds.
const LIMIT: Duration = Duration::from_millis(1_500);

/// A waiter must confirm its grant after the end of a lease within one second.
const LIMIT_AFTER_EXPIRY: Duration = Duration::from_millis(800);

/// Longer than the resolution of the database's clock.
const TICK: Duration = Duration::from_millis(2);

/// Defines a place for each name, with one backend for each process.
macro_rules! places {
    ($($name:ident: $database:ty, $pool:expr;)+) => {
        $(
            #[derive(Debug, Clone)]
            struct $name;

            impl Place for $name {
                const IS_LAZY: bool = false;

                const LIMIT: Duration = LIMIT;

                const LIMIT_AFTER_EXPIRY: Duration = LIMIT_AFTER_EXPIRY;

                type Backend = SqlBackend<$database>;

                fn backend(who: Id) -> &'static Self::Backend {
                    static BACKENDS: LazyLock<[SqlBackend<$database>; PROCESSES]> =
                        LazyLock::new(|| {
                            let pool = $name::run($pool);
                            [SqlBackend::new(pool.clone()), SqlBackend::new(pool)]
                        });
                    &BACKENDS[process(who)]
                }

                fn run<T>(request: impl Future<Output = T>) -> T {
                    RUNTIME.block_on(request)
                }

                /// Shortens the lease of this holder, so that only this lease ends.
                fn end_lease(claim: &Claim) {
                    let mut short = claim.clone();
                    short.ttl = Duration::from_micros(1);
                    Self::run(async {
                        Self::backend(0).renew(&[short]).await;
                        sleep(TICK).await;
                    });
                }
            }
        )+
    };
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().unwrap()
});

places! {
    OnPostgres: Postgres, crate::postgres::pool("histories");
    OnMariaDb: MySql, crate::mariadb::pool();
    OnSqlite: Sqlite, async {
        // The file stays for all histories.
        let file = Box::leak(Box::new(crate::sqlite::LockFile::create().await));
        file.pool.clone()
    };
}

histories! {
    25, 0;
    readers_and_writers_on_postgres: ReadWrite, OnPostgres;
    readers_and_writers_on_mariadb: ReadWrite, OnMariaDb;
    readers_and_writers_on_sqlite: ReadWrite, OnSqlite;
    permits_on_postgres: Permits, OnPostgres;
    permits_on_mariadb: Permits, OnMariaDb;
    permits_on_sqlite: Permits, OnSqlite;
    outcomes_on_postgres: Once, OnPostgres;
    outcomes_on_mariadb: Once, OnMariaDb;
    outcomes_on_sqlite: Once, OnSqlite;
}
