//! The connections to a database that the processes need.

use std::fs;
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_testkit::processes::{ChildBuilder, ChildProcess};
use leasehold_testkit::servers::PostgresServer;
use tokio::time::sleep;

use crate::program::{PATIENCE, code, leasehold};

const WAITING: usize = 12;

const TTL: Duration = Duration::from_secs(8);

/// The command of the first holder, which ends after a line of input.
const HOLD: [&str; 3] = ["sh", "-c", "echo held; read end"];

/// Starts a server with this number of connections for the role `worker`. One more is for the returned manager, and
/// three are reserved for the superuser.
async fn server(connections: usize) -> (PostgresServer, LockManager) {
    let limit = format!("max_connections={}", connections + 4);
    let server = PostgresServer::builder().setting(limit).start().await;
    let server = server.unwrap();
    let locks = LockManager::builder().max_connections(NonZeroU32::MIN);
    let locks = locks.connect(&server.url()).await.unwrap();
    for sql in [
        "CREATE ROLE worker LOGIN",
        "GRANT ALL ON leasehold_locks TO worker",
    ] {
        server.query(sql).await.unwrap();
    }
    (server, locks)
}

fn run(server: &PostgresServer, options: &[&str]) -> ChildBuilder {
    let url = server.url().replace("postgres@", "worker@");
    let run = leasehold().args(["run", "--url", &url, "--key", "k"]);
    run.args(options).arg("--")
}

async fn until_held(holder: &mut ChildProcess) {
    let held = holder.line_where(PATIENCE, |line| line == "held");
    held.await.unwrap();
}

async fn until_waiting(locks: &LockManager, count: usize) {
    let begin = Instant::now();
    while locks.inspect("k").await.unwrap().waiting != count {
        assert!(begin.elapsed() < PATIENCE, "{count} processes do not wait");
        sleep(PATIENCE / 2000).await;
    }
}

/// Waits until the server confirms a condition.
async fn until_so(server: &PostgresServer, condition: &str) {
    let begin = Instant::now();
    let check = format!("DO $$ BEGIN ASSERT {condition}; END $$");
    while let Err(error) = server.query(&check).await {
        assert!(begin.elapsed() < PATIENCE, "{condition}: {error}");
        sleep(PATIENCE / 2000).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_waiting_process_keeps_one_connection_to_postgres() {
    let (server, locks) = server(WAITING + 4).await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let command = format!("echo begin >> {0}; echo end >> {0}", log.display());
    let mut holder = run(&server, &[]).args(HOLD).start().unwrap();
    until_held(&mut holder).await;
    let waiting = (0..WAITING).map(|_| run(&server, &[]).args(["sh", "-c", &command]).start());
    let mut waiting: Vec<ChildProcess> = waiting.map(Result::unwrap).collect();
    until_waiting(&locks, WAITING).await;

    let count = "(SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker')";
    until_so(&server, &format!("{count} = {}", WAITING + 1)).await;
    // The operator is not a superuser, so the reserved connections are not for it.
    let operator = server.url().replace("postgres@", "worker@");
    let operator = LockManager::connect(&operator).await.unwrap();
    assert_eq!(operator.inspect("k").await.unwrap().waiting, WAITING);
    operator.shutdown().await.unwrap();

    holder.tell("end").unwrap();
    assert_eq!(code(&mut holder).await, 0);
    for process in &mut waiting {
        assert_eq!(code(process).await, 0);
    }
    assert_eq!(
        fs::read_to_string(&log).unwrap(),
        "begin\nend\n".repeat(WAITING)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn holder_renews_and_releases_while_the_server_has_no_free_connection() {
    let (server, locks) = server(2).await;
    let mut holder = run(&server, &["--ttl", &format!("{TTL:?}")])
        .args(HOLD)
        .start()
        .unwrap();
    until_held(&mut holder).await;
    let mut next = run(&server, &["--wait", "2m"]).arg("true").start().unwrap();
    until_waiting(&locks, 1).await;
    until_so(
        &server,
        "(SELECT count(*) FROM pg_stat_activity WHERE usename = 'worker') = 2",
    )
    .await;
    let refused = LockManager::connect(&server.url().replace("postgres@", "worker@")).await;
    assert!(refused.is_err());

    // The lease would have ended without renewals.
    loop {
        let seen = locks.inspect("k").await.unwrap();
        assert_eq!((seen.holders, seen.waiting), (1, 1));
        let held_for = seen.granted_at.unwrap().elapsed().unwrap_or_default();
        if held_for > TTL + TTL / 2 {
            break;
        }
        sleep(PATIENCE / 2000).await;
    }
    holder.tell("end").unwrap();
    assert_eq!(code(&mut holder).await, 0);
    assert_eq!(code(&mut next).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn run_uses_tls_to_postgres_if_the_url_demands_it() {
    let server = PostgresServer::builder().tls().start().await.unwrap();
    let url = format!("{}?sslmode=require", server.url());
    let run = leasehold().args(["run", "--url", &url, "--key", "k", "--", "true"]);
    assert_eq!(code(&mut run.start().unwrap()).await, 0);
}
