//! The conformance suite through `PgBouncer` in transaction mode, without prepared statements. Notifications do not arrive
//! through it.

use std::time::Duration;

use futures_util::future::join_all;
use leasehold::backend::Backend;
use leasehold::backend::sql::{SqlBackend, ddl};
use leasehold::{Key, LockManager};
use leasehold_testkit::servers::{PgBouncerServer, PostgresServer};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgPool, Postgres};
use tokio::sync::OnceCell;
use tokio::time::{Instant, sleep};

use crate::waiters::{Pair, ROUNDS, SOON};

/// Returns the URL of the pooler that all tests of this process share.
async fn url() -> String {
    static SERVERS: OnceCell<(PostgresServer, PgBouncerServer)> = OnceCell::const_new();
    let servers = SERVERS.get_or_init(async || {
        let postgres = PostgresServer::start().await.unwrap();
        let pooler = PgBouncerServer::start(&postgres).await.unwrap();
        (postgres, pooler)
    });
    let (_, pooler) = servers.await;
    pooler.url()
}

async fn options() -> PgConnectOptions {
    let options: PgConnectOptions = url().await.parse().unwrap();
    options.statement_cache_capacity(0)
}

async fn pool() -> PgPool {
    let pool = PgPoolOptions::new().max_connections(5);
    let pool = pool.connect_with(options().await).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    pool
}

leasehold::conformance_tests! {
    mod plain {
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        contract, behaviour, election, hold_at_least, kinds, once, operators, sharing => {
            let pool = pool().await;
            async move || SqlBackend::<Postgres>::new(pool.clone())
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiter_behind_a_pooler_polls_for_a_release() {
    let (pool, mut late) = (pool().await, Vec::new());
    for round in 0..ROUNDS {
        let pair = Pair::<Postgres>::queue(&pool, &format!("pooler {round}")).await;
        let waiting = pair.wait();
        // The listener has sent its probes, which do not arrive.
        sleep(Duration::from_secs(6)).await;
        let released = Instant::now();
        pair.release().await;
        waiting.await.unwrap();
        if released.elapsed() < SOON {
            return;
        }
        late.push(released.elapsed());
    }
    panic!("late in each round: {late:?}");
}

#[tokio::test]
async fn a_refused_startup_parameter_names_the_setting_of_the_pooler() {
    let options = options().await.options([("search_path", "locks")]);
    let backend = SqlBackend::<Postgres>::new(PgPoolOptions::new().connect_lazy_with(options));
    let failed = backend.inspect(&Key::new("", "k").unwrap()).await;
    let failed = failed.unwrap_err();
    assert!(!failed.is_temporary(), "{failed}");
    assert!(
        failed.to_string().contains("`ignore_startup_parameters`"),
        "{failed}"
    );

    let url = format!("{}?options=-csearch_path%3Dlocks", url().await);
    let failed = SqlBackend::<Postgres>::connect(&url).await.unwrap_err();
    assert!(!failed.is_temporary(), "{failed}");
    assert!(
        failed.to_string().contains("`ignore_startup_parameters`"),
        "{failed}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_finds_a_pooler_and_sends_it_no_prepared_statements() {
    let url = url().await;
    let locks: Vec<LockManager> = join_all((0..3).map(async |_| {
        let backend = SqlBackend::<Postgres>::connect(&url).await.unwrap();
        LockManager::builder()
            .command_timeout(Duration::from_secs(20))
            .backend_retry_timeout(Duration::ZERO)
            .build(backend)
            .unwrap()
    }))
    .await;
    let pairs = (0..60).map(|turn| {
        let locks = &locks[turn % locks.len()];
        let acquire = locks.lock(format!("found:{}", turn % 7)).acquire();
        async { acquire.await.unwrap().release().await.unwrap() }
    });
    join_all(pairs).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepared_statements_through_a_pooler_are_refused_with_the_setting() {
    let url = format!("{}?statement-cache-capacity=100", url().await);
    let backends = join_all((0..4).map(async |_| SqlBackend::<Postgres>::connect(&url).await));
    let backends: Vec<_> = backends.await.into_iter().flatten().collect();
    let key = Key::new("", "refused").unwrap();
    let refusal = loop {
        let inspected = join_all(backends.iter().map(|it| it.inspect(&key))).await;
        if let Some(refused) = inspected.into_iter().find_map(Result::err) {
            break refused;
        }
    };
    let text = refusal.to_string();
    assert!(
        !refusal.is_temporary() && text.contains("statement-cache-capacity=0"),
        "{text}"
    );
}
