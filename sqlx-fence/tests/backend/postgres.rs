//! The conformance suite on a Postgres server, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use leasehold::conformance::Faulty;
use leasehold_sqlx::{SqlBackend, ddl};
use leasehold_testkit::servers::PostgresServer;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres};
use tokio::sync::OnceCell;

/// Returns a pool of the server that all tests of this process share. Its connections have this name.
pub(crate) async fn pool(name: &str) -> PgPool {
    static SERVER: OnceCell<PostgresServer> = OnceCell::const_new();
    let server = SERVER.get_or_init(async || PostgresServer::start().await.unwrap());
    let options: PgConnectOptions = server.await.url().parse().unwrap();
    let pool = PgPoolOptions::new().max_connections(5);
    let pool = pool
        .connect_with(options.application_name(name))
        .await
        .unwrap();
    ddl::create_locks(&pool).await.unwrap();
    pool
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool("suite").await;
            async move || SqlBackend::<Postgres>::new(pool.clone())
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool("suite").await;
            async move || Faulty::sluggish(SqlBackend::<Postgres>::new(pool.clone()), 1)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        behaviour, hold_at_least, once, sharing => {
            let pool = pool("suite").await;
            async move || Faulty::lossy(SqlBackend::<Postgres>::new(pool.clone()), 2)
        }
    }
}
