//! A process that acquires locks and changes data, until its input is `stop`.
//!
//! | input | does |
//! |---|---|
//! | `force` | force-releases all locks, like an operator |
//! | `stop` | ends all running tasks and the process |
//!
//! It prints `ready` at its beginning, and `done` at its end.

mod orders;
mod turns;

use std::io::{BufRead, stdin};
use std::sync::Arc;
use std::time::Duration;

use leasehold::LockManager;
use leasehold_testkit::history::Recorder;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub use self::orders::Orders;
use self::turns::Turns;
use crate::BoxError;
use crate::data::{self, Store};
use crate::deployment::Locks;
use crate::record::Notes;

/// Executes `orders`, which are JSON.
///
/// # Errors
///
/// Returns an error if the process cannot begin, or cannot record its changes.
#[allow(clippy::print_stdout, reason = "it talks by lines")]
pub async fn work(orders: &str) -> Result<(), BoxError> {
    let orders: Orders = serde_json::from_str(orders)?;
    let stop = CancellationToken::new();
    let Some(locks) = connected(&orders.locks, &stop).await else {
        return Ok(());
    };
    listen(&orders, &locks, &stop);
    let recorder = Recorder::to_file(&orders.file.with_extension("holds"))?;
    let notes = Notes::to_file(&orders.file.with_extension("changes"))?;
    let mut tasks = JoinSet::new();
    for (kind, address) in &orders.stores {
        let store: Arc<dyn Store> = data::connect(kind, address).await?.into();
        for task in 0..orders.tasks {
            let turns = Turns {
                locks: locks.clone(),
                key: orders.cell.resource(kind),
                store: Arc::clone(&store),
                kind: kind.clone(),
                cell: orders.cell,
                recorder: recorder.clone(),
                notes: notes.clone(),
                polls: orders.polls,
                name: format!("{}.{kind}.{task}", std::process::id()),
            };
            tasks.spawn(turns.run(stop.clone()));
        }
    }
    println!("ready");
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    recorder.history()?;
    // The remaining leases expire.
    let _unconfirmed = locks.shutdown().await;
    println!("done");
    Ok(())
}

/// Retries, because a server may be down at this moment.
#[allow(clippy::print_stderr, reason = "its last words")]
async fn connected(locks: &Locks, stop: &CancellationToken) -> Option<LockManager> {
    const PAUSE: Duration = Duration::from_millis(50);
    loop {
        match locks.connect().await {
            Ok(locks) => return Some(locks),
            Err(_) if stop.is_cancelled() => return None,
            Err(error) => eprintln!("no locks yet: {error}"),
        }
        sleep(PAUSE).await;
    }
}

/// Reads the input until its end, which also stops the process.
fn listen(orders: &Orders, locks: &LockManager, stop: &CancellationToken) {
    let (locks, stop) = (locks.clone(), stop.clone());
    let kinds = orders.stores.iter().map(|(kind, _)| kind);
    let keys: Vec<String> = kinds.map(|kind| orders.cell.resource(kind)).collect();
    let runtime = tokio::runtime::Handle::current();
    std::thread::spawn(move || {
        for line in stdin().lock().lines().map_while(Result::ok) {
            match line.as_str() {
                "force" => {
                    for key in &keys {
                        // After an error, the test will send the order again.
                        drop(runtime.block_on(locks.force_release(key)));
                    }
                }
                "stop" => break,
                _ => {}
            }
        }
        stop.cancel();
    });
}
