//! Many tasks, in one process and in two, increment a counter: each reads it, waits, and writes it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::env;
use std::io::stdin;
use std::path::Path;
use std::time::Duration;

use leasehold::backend::InProcess;
use leasehold::{LockManager, distributed_lock};
use leasehold_testkit::processes::ChildProcess;
use leasehold_testkit::servers::RedisServer;
use tempfile::NamedTempFile;
use tokio::task::JoinSet;

const TASKS: usize = 16;
const CALLS: usize = 8;
const PART: &str = "LEASEHOLD_MACROS_PART";
const PATIENCE: Duration = Duration::from_secs(120);

#[distributed_lock("counter", manager = locks, wait = "2m")]
async fn increment(locks: &LockManager, counter: &Path) -> anyhow::Result<()> {
    let read: usize = tokio::fs::read_to_string(counter).await?.parse()?;
    tokio::time::sleep(Duration::from_millis(1)).await;
    tokio::fs::write(counter, (read + 1).to_string()).await?;
    Ok(())
}

/// Runs the increments of one process.
async fn many_increments(locks: &LockManager, counter: &Path) {
    let mut tasks = JoinSet::new();
    for _ in 0..TASKS {
        let (locks, counter) = (locks.clone(), counter.to_owned());
        tasks.spawn(async move {
            for _ in 0..CALLS {
                increment(&locks, &counter).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
}

fn new_counter() -> NamedTempFile {
    let file = NamedTempFile::new().unwrap();
    std::fs::write(&file, "0").unwrap();
    file
}

fn assert_nothing_is_lost(counter: &NamedTempFile) {
    let count = std::fs::read_to_string(counter).unwrap();
    assert_eq!(count, (2 * TASKS * CALLS).to_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_in_one_process_lose_no_increment() {
    let (world, counter) = (InProcess::new(), new_counter());
    let (here, there) = (LockManager::new(world.clone()), LockManager::new(world));
    tokio::join!(
        many_increments(&here, counter.path()),
        many_increments(&there, counter.path())
    );
    assert_nothing_is_lost(&counter);
}

#[tokio::test]
async fn calls_in_two_processes_lose_no_increment() {
    let (server, counter) = (RedisServer::start().await.unwrap(), new_counter());
    let part = format!("{} {}", server.url(), counter.path().display());
    let mut children: Vec<ChildProcess> = (0..2).map(|_| child(&part)).collect();
    for child in &mut children {
        child
            .line_where(PATIENCE, |line| line == "ready")
            .await
            .unwrap();
    }
    for child in &mut children {
        child.tell("go").unwrap();
    }
    for mut child in children {
        let status = child.end(PATIENCE).await.unwrap();
        assert!(status.success(), "{}", child.last_words());
    }
    assert_nothing_is_lost(&counter);
}

fn child(part: &str) -> ChildProcess {
    ChildProcess::of(env::current_exe().unwrap())
        .args([
            "--exact",
            "single::distributed_lock::child_process_that_increments_the_counter",
            "--nocapture",
        ])
        .env(PART, part)
        .start()
        .unwrap()
}

/// This is not a test by itself. The test above runs it in two processes.
#[tokio::test(flavor = "multi_thread")]
async fn child_process_that_increments_the_counter() {
    let Ok(part) = env::var(PART) else {
        return;
    };
    let (url, counter) = part.split_once(' ').unwrap();
    let locks = LockManager::connect(url).await.unwrap();
    println!("\nready");
    // Wait until the parent has seen `ready` from all processes.
    assert!(stdin().lines().next().is_some());
    many_increments(&locks, Path::new(counter)).await;
    locks.shutdown().await.unwrap();
}
