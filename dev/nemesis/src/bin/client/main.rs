//! A process that executes a locking task. Tests start several of them, and stop and kill them: see [`Task`].

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "it talks by lines"
)]

mod campaign;
mod change;
mod compete;
mod hold;
mod repeat;
mod schedule;

use std::env::args;
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold_nemesis::BoxError;
use leasehold_nemesis::clients::{KEY, Task};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The time until the first connection. A test may cut it, or restart the server, when the process has just started.
const PATIENCE: Duration = Duration::from_secs(60);

/// The pause after a failed connect.
const PAUSE: Duration = Duration::from_millis(20);

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let (Some(url), Some(task)) = (args().nth(1), args().nth(2)) else {
        return Err("the arguments are a URL and a task".into());
    };
    let task = serde_json::from_str(&task)?;
    let locks = connected(&url, &task).await?;
    match task {
        Task::Campaign(work) => campaign::campaign(work, &locks).await,
        Task::Hold(ttl) => hold::hold(&locks, ttl).await,
        Task::Wait(tasks) => wait(&locks, tasks).await,
        Task::Repeat(work) => repeat::repeat(work, &locks).await,
        Task::Schedule(work) => schedule::schedule(&work, &locks).await,
        Task::Compete(work) => compete::compete(work, &locks).await,
        Task::Change(work) => change::change(work, &url, &locks).await,
        Task::HandOver(ttl) => {
            let guard = locks.lock(KEY).ttl(ttl).acquire().await?;
            println!("ticket {}", guard.hand_over().await?);
            Ok(())
        }
    }
}

/// Retries, because a server may be down at this moment. A wrong URL ends the process as well, but later.
async fn connected(url: &str, task: &Task) -> Result<LockManager, BoxError> {
    let begin = Instant::now();
    loop {
        let connected = match task {
            Task::Campaign(work) => work.locks.connect().await,
            _ => LockManager::connect(url).await.map_err(BoxError::from),
        };
        match connected {
            Err(error) if begin.elapsed() < PATIENCE => eprintln!("no locks yet: {error}"),
            other => return other,
        }
        sleep(PAUSE).await;
    }
}

/// Waits in many tasks. Each that acquires the key releases it immediately.
async fn wait(locks: &LockManager, tasks: usize) -> Result<(), BoxError> {
    let mut waiting = JoinSet::new();
    for _ in 0..tasks {
        waiting.spawn(locks.lock(KEY).acquire());
    }
    while let Some(granted) = waiting.join_next().await {
        granted??.release().await?;
    }
    Ok(locks.shutdown().await?)
}
