//! The pool of `SqlBackend::connect` tests a connection before its use only if the connection was idle.

use std::time::Duration;

use leasehold::Key;
use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Attempt, AttemptAnswer, Backend};
use leasehold_testkit::servers::MariaDbServer;
use sqlx::{Connection, MySql, MySqlConnection, query_as, query_scalar, raw_sql};
use tokio::time::sleep;

const PAIRS: i64 = 20;

async fn acquire_and_release(backend: &SqlBackend<MySql>) {
    let key = Key::new("", "connected").unwrap();
    let attempt = Attempt::new(key, Duration::from_secs(30), false);
    let answer = backend.attempt(&attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    backend.release(&attempt.claim(token)).await.unwrap();
}

/// Returns how many connections were tested since the server started.
async fn tests(observer: &mut MySqlConnection) -> i64 {
    let status = query_as("SHOW GLOBAL STATUS LIKE 'Com_admin_commands'");
    let (_, tests): (String, String) = status.fetch_one(observer).await.unwrap();
    tests.parse().unwrap()
}

#[tokio::test]
async fn a_connection_in_use_is_tested_once_after_each_use() {
    let server = MariaDbServer::start().await.unwrap();
    let backend = SqlBackend::<MySql>::connect(&server.url()).await.unwrap();
    let mut observer = MySqlConnection::connect(&server.url()).await.unwrap();
    acquire_and_release(&backend).await;
    let before = tests(&mut observer).await;
    for _ in 0..PAIRS {
        acquire_and_release(&backend).await;
    }
    // sqlx tests a connection that it returns to the pool in the background.
    while tests(&mut observer).await - before < 2 * PAIRS {
        sleep(Duration::from_millis(10)).await;
    }
    let tested = tests(&mut observer).await - before;
    assert!(tested < 3 * PAIRS, "{tested} tests for {PAIRS} pairs");
}

#[tokio::test]
async fn an_idle_connection_that_the_server_has_closed_is_replaced() {
    let server = MariaDbServer::start().await.unwrap();
    let backend = SqlBackend::<MySql>::connect(&server.url()).await.unwrap();
    let mut observer = MySqlConnection::connect(&server.url()).await.unwrap();
    acquire_and_release(&backend).await;
    let others = "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'";
    let others: Vec<i64> = query_scalar(others).fetch_all(&mut observer).await.unwrap();
    let mut killed = 0;
    for other in others {
        let kill = sqlx::AssertSqlSafe(format!("KILL {other}"));
        match raw_sql(kill).execute(&mut observer).await {
            Ok(_) => killed += 1,
            // `connect` has closed its own connection, which the server may still have listed.
            Err(ended) => assert!(ended.to_string().contains("Unknown thread id"), "{ended}"),
        }
    }
    assert!(killed > 0);
    sleep(Duration::from_millis(1_100)).await;
    acquire_and_release(&backend).await;
}
