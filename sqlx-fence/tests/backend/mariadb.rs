//! The conformance suite on a `MariaDB` server, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use leasehold::conformance::Faulty;
use leasehold_sqlx::{SqlBackend, ddl};
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, MySqlPool};
use tokio::sync::OnceCell;

/// Returns a pool of the server that all tests of this process share.
async fn pool() -> MySqlPool {
    static SERVER: OnceCell<MariaDbServer> = OnceCell::const_new();
    let server = SERVER.get_or_init(async || MariaDbServer::start().await.unwrap());
    let options = MySqlPoolOptions::new().max_connections(5);
    let pool = options.connect(&server.await.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    pool
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool().await;
            async move || SqlBackend::<MySql>::new(pool.clone())
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool().await;
            async move || Faulty::sluggish(SqlBackend::<MySql>::new(pool.clone()), 1)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        behaviour, hold_at_least, once, sharing => {
            let pool = pool().await;
            async move || Faulty::lossy(SqlBackend::<MySql>::new(pool.clone()), 2)
        }
    }
}
