//! The conformance suite on a Postgres server, with one backend for each connection, as in separate processes. The
//! wrappers delay, refuse and lose commands.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold::backend::{Attempt, Backend, RenewAnswer};
use leasehold::conformance::Faulty;
use leasehold_testkit::servers::PostgresServer;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres};
use tokio::sync::OnceCell;

use crate::waiters::{queue, take};

/// Returns the URL of the server that all tests of this process share. The server has the table.
pub(crate) async fn url() -> String {
    static SERVER: OnceCell<PostgresServer> = OnceCell::const_new();
    let server = SERVER.get_or_init(async || {
        let server = PostgresServer::start().await.unwrap();
        let pool = PgPool::connect(&server.url()).await.unwrap();
        ddl::create_locks(&pool).await.unwrap();
        pool.close().await;
        server
    });
    server.await.url()
}

/// Returns a pool of this server. Its connections have this name.
pub(crate) async fn pool(name: &str) -> PgPool {
    let options: PgConnectOptions = url().await.parse().unwrap();
    let pool = PgPoolOptions::new().max_connections(5);
    let pool = pool.connect_with(options.application_name(name));
    pool.await.unwrap()
}

/// Checks that a value cannot end its literal, and that bytes arrive, whatever the settings of the connection are.
#[tokio::test]
async fn values_with_quotes_do_not_change_the_statement() {
    let shared = pool("literals").await;
    let options = shared.connect_options();
    let options = options.as_ref().clone().options([
        ("bytea_output", "escape"),
        ("standard_conforming_strings", "off"),
        ("backslash_quote", "on"),
    ]);
    let unusual = PgPoolOptions::new().connect_with(options).await.unwrap();
    for name in [
        "it's",
        "\\'; --",
        "$1 $2",
        "a\\",
        "\u{e9}\u{1f512}",
        "', 'x",
    ] {
        let (here, there) = (
            SqlBackend::new(unusual.clone()),
            SqlBackend::new(shared.clone()),
        );
        let key = Key::new("literals:", name).unwrap();
        let ttl = Duration::from_secs(30);
        let held = take::<Postgres>(&here, &Attempt::new(key.clone(), ttl, false)).await;
        let waiter = Attempt::new(key.clone(), ttl, true);
        queue::<Postgres>(&there, &waiter).await;
        let answers = here.renew(std::slice::from_ref(&held)).await;
        assert!(matches!(answers[..], [Ok(RenewAnswer::Extended { .. })]));
        let seen = here.inspect(&key).await.unwrap();
        assert_eq!(seen.owner, Some(held.owner.to_string()));
        assert_eq!(seen.waiting, 1);
        here.release(&held).await.unwrap();
        let claim = take(&there, &waiter).await;
        there.release(&claim).await.unwrap();
    }
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool("suite").await;
            async move || SqlBackend::<Postgres>::new(pool.clone())
        }
    }
}

leasehold::conformance_tests! {
    mod sluggish {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool("suite").await;
            async move || Faulty::sluggish(SqlBackend::<Postgres>::new(pool.clone()), 1)
        }
    }
}

leasehold::conformance_tests! {
    mod lossy {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        behaviour, election, hold_at_least, once, sharing => {
            let pool = pool("suite").await;
            async move || Faulty::lossy(SqlBackend::<Postgres>::new(pool.clone()), 2)
        }
    }
}
