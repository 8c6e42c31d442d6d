//! What a check finds in databases that are sick in one way each.

use leasehold::LockManager;
use leasehold::backend::sql::{LockDatabase, SqlBackend, ddl};
use leasehold::check::{CheckReport, Verdict};
use leasehold_testkit::servers::{MariaDbServer, PostgresServer, ReplicatedPostgres};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};
use sqlx::{MySqlPool, PgPool, Pool, SqlitePool, raw_sql};

async fn checked<DB: LockDatabase>(pool: Pool<DB>) -> CheckReport {
    let report = LockManager::new(SqlBackend::new(pool)).check().await;
    println!("{report}\n");
    report
}

/// Checks that the report has a finding with this name, this verdict and this text.
fn has(report: &CheckReport, verdict: Verdict, name: &str, text: &str) {
    let found = report.findings.iter().any(|it| {
        let shown = format!("{}: {}", it.found, it.remedy.as_deref().unwrap_or_default());
        it.verdict == verdict && it.name == name && shown.contains(text)
    });
    assert!(found, "no {verdict} `{name}` with `{text}` in\n{report}");
}

async fn postgres() -> (PostgresServer, PgPool) {
    let server = PostgresServer::start().await.unwrap();
    let pool = PgPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    (server, pool)
}

/// Returns a pool whose connections have this setting.
async fn with(pool: &PgPool, name: &str, value: &str) -> PgPool {
    let options = pool.connect_options().as_ref().clone();
    PgPool::connect_with(options.options([(name, value)]))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_each_sick_setting_is_found() {
    let (_server, pool) = postgres().await;
    let report = checked(pool.clone()).await;
    // The servers of the tests do not sync, for speed.
    has(&report, Verdict::Warning, "durability", "fsync is off");
    has(
        &report,
        Verdict::Warning,
        "idle transactions",
        "idle_in_transaction_session_timeout",
    );
    for good in [
        "acquire",
        "exclusion",
        "writes",
        "notifications",
        "replicas",
    ] {
        has(&report, Verdict::Good, good, "");
    }
    let idle = with(&pool, "idle_in_transaction_session_timeout", "30s").await;
    has(
        &checked(idle).await,
        Verdict::Good,
        "idle transactions",
        "30000",
    );
    let short = with(&pool, "statement_timeout", "500ms").await;
    has(
        &checked(short).await,
        Verdict::Warning,
        "statement_timeout",
        "500 ms",
    );
    let read_only = with(&pool, "default_transaction_read_only", "on").await;
    let report = checked(read_only).await;
    has(&report, Verdict::Failure, "acquire", "takes no writes");
    has(&report, Verdict::Failure, "writes", "primary");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_missing_rights_and_connections_are_found() {
    let (server, pool) = postgres().await;
    for sql in [
        "REVOKE EXECUTE ON FUNCTION pg_notify(text, text) FROM PUBLIC",
        "CREATE ROLE app LOGIN CONNECTION LIMIT 10",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON leasehold_locks TO app",
    ] {
        raw_sql(sql).execute(&pool).await.unwrap();
    }
    let app = PgPool::connect(&server.url().replace("postgres@", "app@"))
        .await
        .unwrap();
    let mut held = Vec::new();
    for _ in 0..8 {
        held.push(app.acquire().await.unwrap());
    }
    let report = checked(app.clone()).await;
    has(&report, Verdict::Warning, "notifications", "GRANT EXECUTE");
    has(&report, Verdict::Warning, "connections", "of 10 in use");
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_postgres_an_asynchronous_replica_is_a_warning() {
    let pair = ReplicatedPostgres::start_asynchronous().await.unwrap();
    let pool = PgPool::connect(&pair.primary().url()).await.unwrap();
    ddl::create_locks(&pool).await.unwrap();
    has(
        &checked(pool).await,
        Verdict::Warning,
        "replicas",
        "synchronous_standby_names",
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_mariadb_each_sick_setting_is_found() {
    let server = MariaDbServer::start().await.unwrap();
    let admin = MySqlPool::connect(&server.url()).await.unwrap();
    ddl::create_locks(&admin).await.unwrap();
    for sql in [
        "CREATE USER app@localhost; GRANT ALL ON test.* TO app@localhost",
        "SET GLOBAL innodb_flush_log_at_trx_commit = 2",
        "SET GLOBAL wait_timeout = 10",
        "SET GLOBAL sql_safe_updates = 1",
        "SET GLOBAL init_connect = 'SET autocommit = 1'",
    ] {
        raw_sql(sql).execute(&admin).await.unwrap();
    }
    let app = MySqlPool::connect(&server.url().replace("root@", "app@"))
        .await
        .unwrap();
    let report = checked(app.clone()).await;
    has(
        &report,
        Verdict::Warning,
        "durability",
        "innodb_flush_log_at_trx_commit is 2",
    );
    has(&report, Verdict::Warning, "idle connections", "10 s");
    has(
        &report,
        Verdict::Warning,
        "sessions",
        "sql_safe_updates is on",
    );
    has(
        &report,
        Verdict::Warning,
        "idle transactions",
        "idle_transaction_timeout",
    );
    for good in ["acquire", "exclusion", "writes", "table"] {
        has(&report, Verdict::Good, good, "");
    }
    raw_sql("SET GLOBAL read_only = 1")
        .execute(&admin)
        .await
        .unwrap();
    let report = checked(app).await;
    has(&report, Verdict::Failure, "acquire", "takes no writes");
    has(&report, Verdict::Failure, "writes", "primary");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_sqlite_each_sick_setting_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("locks.db");
    let options = SqliteConnectOptions::new()
        .filename(&file)
        .create_if_missing(true);
    let pool = |options| async {
        let pool: SqlitePool = SqlitePoolOptions::new()
            .connect_with(options)
            .await
            .unwrap();
        ddl::create_locks(&pool).await.unwrap();
        pool
    };
    let plain = options.clone().journal_mode(SqliteJournalMode::Delete);
    let report = checked(pool(plain).await).await;
    has(&report, Verdict::Warning, "journal", "journal_mode = WAL");
    has(&report, Verdict::Good, "file system", "");
    let careless = options
        .clone()
        .journal_mode(SqliteJournalMode::Memory)
        .busy_timeout(std::time::Duration::ZERO)
        .pragma("synchronous", "OFF");
    let report = checked(pool(careless).await).await;
    has(&report, Verdict::Failure, "journal", "damages the file");
    has(
        &report,
        Verdict::Warning,
        "durability",
        "synchronous = NORMAL",
    );
    has(&report, Verdict::Warning, "busy timeout", "0 ms");
    std::fs::hard_link(&file, folder.path().join("other.db")).unwrap();
    let report = checked(pool(options).await).await;
    has(&report, Verdict::Failure, "names of the file", "hard link");
}
