//! The conformance suite on a `MariaDB` server, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold::conformance::Faulty;
use leasehold_testkit::servers::MariaDbServer;
use sqlx::mysql::MySqlPoolOptions;
use sqlx::{MySql, MySqlPool};
use tokio::sync::OnceCell;

/// Returns the URL of the server that all tests of this process share. The server has the table.
pub(crate) async fn url() -> String {
    static SERVER: OnceCell<MariaDbServer> = OnceCell::const_new();
    let server = SERVER.get_or_init(async || {
        let server = MariaDbServer::start().await.unwrap();
        let pool = MySqlPool::connect(&server.url()).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        pool.close().await;
        server
    });
    server.await.url()
}

/// Returns a pool of this server.
pub(crate) async fn pool() -> MySqlPool {
    let options = MySqlPoolOptions::new().max_connections(5);
    options.connect(&url().await).await.unwrap()
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool().await;
            async move || SqlBackend::<MySql>::new(pool.clone())
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool().await;
            async move || Faulty::sluggish(SqlBackend::<MySql>::new(pool.clone()), 1)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        behaviour, election, hold_at_least, once, sharing => {
            let pool = pool().await;
            async move || Faulty::lossy(SqlBackend::<MySql>::new(pool.clone()), 2)
        }
    }
}
