//! Connects to a `SQLite` file.

use std::time::{Duration, Instant};

use leasehold::backend::sql::SqlBackend;
use leasehold::backend::{Applied, Attempt, AttemptAnswer, Backend};
use leasehold::{ConnectError, Error, Key, LockManager};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{
    AssertSqlSafe, ConnectOptions, Connection, Sqlite, SqliteConnection, query, query_scalar,
    raw_sql,
};
use tempfile::TempDir;
use tokio::time::{interval, sleep};

use super::{assert_shared, refusal, text};

const TTL: Duration = Duration::from_secs(30);

/// A folder, and the URL of a file in it that does not exist yet.
fn url() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("locks.db").display());
    (folder, url)
}

async fn open(url: &str) -> SqliteConnection {
    let options: SqliteConnectOptions = url.parse().unwrap();
    options.connect().await.unwrap()
}

#[tokio::test]
async fn a_url_creates_the_file_and_managers_share_its_locks() {
    let (_folder, url) = url();
    let one = LockManager::connect(&url).await.unwrap();
    let other = url.replace("sqlite:", "sqlite://");
    let other = LockManager::builder().connect(&other).await.unwrap();
    assert_shared(&one, &other).await;

    let mode = query_scalar("PRAGMA journal_mode");
    let mode: String = mode.fetch_one(&mut open(&url).await).await.unwrap();
    assert_eq!(mode, "wal");
    one.shutdown().await.unwrap();
    other.shutdown().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_can_create_a_file_concurrently() {
    for _ in 0..10 {
        let (_folder, url) = url();
        let clients = (0..16).map(|_| {
            let url = url.clone();
            tokio::spawn(async move { SqlBackend::<Sqlite>::connect(&url).await })
        });
        let clients: Vec<_> = clients.collect();
        for client in clients {
            client.await.unwrap().unwrap();
        }
    }
}

/// Runs `begin` on another connection, and ends its transaction while a client connects.
async fn connects_after(url: &str, begin: &[&str]) {
    let mut other = open(&format!("{url}?mode=rwc")).await;
    for statement in begin {
        let statement = raw_sql(AssertSqlSafe((*statement).to_owned()));
        statement.execute(&mut other).await.unwrap();
    }
    let url = url.to_owned();
    let client = tokio::spawn(async move { SqlBackend::<Sqlite>::connect(&url).await });
    // Longer than one statement waits.
    sleep(Duration::from_millis(1500)).await;
    assert!(!client.is_finished());
    query("COMMIT").execute(&mut other).await.unwrap();
    client.await.unwrap().unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn connect_waits_while_another_process_reads_or_writes_the_file() {
    const READS: [&str; 3] = ["CREATE TABLE t (c)", "BEGIN", "SELECT * FROM t"];
    let (_folder, read) = url();
    connects_after(&read, &READS).await;
    let (_folder, written) = url();
    connects_after(&written, &["PRAGMA journal_mode = WAL", "BEGIN IMMEDIATE"]).await;
}

#[tokio::test]
async fn a_database_that_other_processes_cannot_see_is_refused_with_the_remedy() {
    for url in [
        "sqlite::memory:",
        "sqlite://:memory:",
        "sqlite:x?mode=memory",
    ] {
        let refused = refusal(url).await;
        assert!(matches!(refused, ConnectError::Url { .. }), "{refused:?}");
        let text = text(&refused);
        assert!(text.contains("LockManager::in_process()"), "{url}: {text}");
    }
    for url in ["sqlite:", "sqlite://"] {
        let text = text(&refusal(url).await);
        assert!(text.contains("name a file on a local disk"), "{text}");
    }
}

#[tokio::test]
async fn a_file_with_a_hard_link_is_refused_under_both_names_with_the_remedy() {
    let (folder, url) = url();
    LockManager::connect(&url).await.unwrap();
    let link = folder.path().join("link.db");
    std::fs::hard_link(folder.path().join("locks.db"), &link).unwrap();
    for url in [&url, &format!("sqlite:{}", link.display())] {
        let refused = refusal(url).await;
        assert!(matches!(refused, ConnectError::Url { .. }), "{refused:?}");
        let text = text(&refused);
        assert!(text.contains("remove the hard link"), "{url}: {text}");
    }
    assert!(!folder.path().join("link.db-wal").exists());
    std::fs::remove_file(&link).unwrap();

    // SQLite names the log after the file that a symbolic link leads to.
    std::os::unix::fs::symlink(folder.path().join("locks.db"), &link).unwrap();
    let one = LockManager::connect(&url).await.unwrap();
    let other = format!("sqlite:{}", link.display());
    let other = LockManager::connect(&other).await.unwrap();
    assert_shared(&one, &other).await;
}

#[tokio::test]
async fn a_file_that_cannot_be_opened_or_written_is_an_error() {
    let (folder, url) = url();
    let missing = text(&refusal(&format!("{url}?mode=rw")).await);
    assert!(missing.contains("cannot open the file"), "{missing}");
    let elsewhere = text(&refusal("sqlite:/missing/folder/locks.db").await);
    assert!(
        elsewhere.contains("connecting to /missing/folder/locks.db failed: cannot open the file"),
        "{elsewhere}"
    );
    let text_file = folder.path().join("text.db");
    std::fs::write(&text_file, "this is not a database, but a text ".repeat(40)).unwrap();
    let text_file = text(&refusal(&format!("sqlite:{}", text_file.display())).await);
    assert!(text_file.contains("file is not a database"), "{text_file}");

    LockManager::connect(&url).await.unwrap();
    let reader = LockManager::connect(&format!("{url}?mode=ro"))
        .await
        .unwrap();
    let begin = Instant::now();
    let refused = reader.lock("k").acquire().await.unwrap_err();
    assert!(matches!(refused, Error::Backend { .. }), "{refused:?}");
    assert!(!refused.is_temporary(), "{refused:?}");
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_blocked_file_delays_operations_and_not_the_runtime() {
    let (_folder, url) = url();
    let backend = SqlBackend::<Sqlite>::connect(&url).await.unwrap();
    let attempt = Attempt::new(Key::new("", "k").unwrap(), TTL, false);
    let answer = backend.attempt(&attempt).await.unwrap();
    let AttemptAnswer::Granted { token, .. } = answer else {
        panic!("{answer:?}")
    };
    let claim = attempt.claim(token);

    let mut blocker = open(&url).await;
    query("BEGIN IMMEDIATE")
        .execute(&mut blocker)
        .await
        .unwrap();
    // A busy machine may be late in some rounds.
    for round in 1.. {
        let begin = Instant::now();
        let mut ticks = 0;
        let renewed = {
            let renew = backend.renew(std::slice::from_ref(&claim));
            tokio::pin!(renew);
            let mut clock = interval(Duration::from_millis(10));
            loop {
                tokio::select! {
                    renewed = &mut renew => break renewed,
                    _ = clock.tick() => ticks += 1,
                }
            }
        };
        let waited = begin.elapsed();
        let error = renewed[0].as_ref().unwrap_err();
        assert_eq!(error.applied(), Applied::No, "{error:?}");
        assert!(error.is_temporary(), "{error:?}");
        // Less than the default command timeout.
        if waited < Duration::from_secs(2) && ticks > 20 {
            break;
        }
        assert!(round < 10, "{waited:?}, {ticks} ticks");
    }

    // An acquisition that began before continues.
    let locks = LockManager::new(backend);
    let acquired = tokio::spawn({
        let locks = locks.clone();
        async move { locks.lock("other").acquire().await }
    });
    sleep(Duration::from_millis(500)).await;
    query("ROLLBACK").execute(&mut blocker).await.unwrap();
    let guard = acquired.await.unwrap().unwrap();
    guard.release().await.unwrap();
    blocker.close().await.unwrap();
}
