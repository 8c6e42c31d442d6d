//! Runs all cells. The cells of a deployment run one after another on the same servers, and some deployments run
//! concurrently.

use std::sync::Arc;
use std::time::{Duration, Instant};

use leasehold::LockManager;
use leasehold::backend::Inspection;
use strum::VariantArray;
use tempfile::TempDir;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::BoxError;
use crate::cell::{Cell, Verdict};
use crate::data::{STORES, Servers};
use crate::deployment::{self, Deployment, Kind};

/// The time until all locks are free. A dead waiter in the queue may block a lock for some seconds.
const FREE: Duration = Duration::from_secs(60);

/// The pause between two looks at a lock.
const PAUSE: Duration = Duration::from_millis(20);

/// The time until the data of all locks has expired.
const GONE: Duration = Duration::from_secs(90);

/// An event during the run.
#[derive(Debug)]
pub enum Progress {
    /// The servers of a deployment have started.
    Started(Kind),
    /// A cell has ended.
    Cell(Box<Verdict>),
    /// The locks of a deployment are free without leftovers after this duration, or an error.
    End(Kind, Result<Duration, String>),
}

/// The state that all deployments share.
struct Common {
    data: Servers,
    folder: TempDir,
    /// Locked while tables are created.
    prepare: Mutex<()>,
    at_once: Semaphore,
}

/// Runs cells, with `at_once` deployments concurrently. Must be called within a `LocalSet`.
///
/// # Errors
///
/// Returns an error if a cell cannot be completed.
pub async fn all(
    cells: Vec<Cell>,
    at_once: usize,
    tell: UnboundedSender<Progress>,
) -> Result<(), BoxError> {
    let common = Arc::new(Common {
        data: Servers::start().await?,
        folder: tempfile::tempdir()?,
        prepare: Mutex::default(),
        at_once: Semaphore::new(at_once),
    });
    let mut running = JoinSet::new();
    for &kind in Kind::VARIANTS {
        let own: Vec<Cell> = cells.iter().filter(|it| it.kind == kind).cloned().collect();
        if !own.is_empty() {
            running.spawn_local(of_kind(kind, own, Arc::clone(&common), tell.clone()));
        }
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

async fn of_kind(
    kind: Kind,
    cells: Vec<Cell>,
    common: Arc<Common>,
    tell: UnboundedSender<Progress>,
) -> Result<(), BoxError> {
    let _turn = common.at_once.acquire().await?;
    let failed = |what: &str, error: BoxError| BoxError::from(format!("{what}: {error}"));
    let started = deployment::start(kind).await;
    let deployment = started.map_err(|error| failed(kind.name(), error))?;
    let links = common.data.link(common.folder.path(), kind.name()).await?;
    // The receiver may already be dropped.
    drop(tell.send(Progress::Started(kind)));
    for cell in &cells {
        let run = cell.run(&*deployment, &links, &common.prepare);
        let verdict = run.await.map_err(|error| failed(&cell.name(), error))?;
        drop(tell.send(Progress::Cell(Box::new(verdict))));
    }
    if kind != Kind::InProcess {
        let begin = Instant::now();
        let free = all_free(&*deployment, &cells).await;
        let free = free.map(|()| begin.elapsed());
        drop(tell.send(Progress::End(kind, free.map_err(|error| error.to_string()))));
    }
    Ok(())
}

/// Waits until each lock can be acquired and released, and then until no data of any lock is left.
async fn all_free(deployment: &dyn Deployment, cells: &[Cell]) -> Result<(), BoxError> {
    let locks = deployment.locks().connect().await?;
    for cell in cells {
        for store in STORES {
            let key = cell.number.resource(store);
            acquired_and_released(&locks, &key).await?;
            let given_back = Instant::now();
            loop {
                let seen = locks.inspect(&key).await;
                if seen.as_ref().is_ok_and(Inspection::is_free) {
                    break;
                }
                if given_back.elapsed() > FREE {
                    return Err(format!("{key} is left: {seen:?}").into());
                }
                sleep(PAUSE).await;
            }
        }
    }
    locks.shutdown().await?;
    let begin = Instant::now();
    loop {
        let left = deployment.traces().await?;
        if left.is_empty() {
            return Ok(());
        }
        if begin.elapsed() > GONE {
            return Err(format!("after {GONE:?} there are still {left:?}").into());
        }
        sleep(Duration::from_millis(100)).await;
    }
}

/// Returns an error if the lock is not free in time. A busy machine may cause errors, so one counts only if it stays.
async fn acquired_and_released(locks: &LockManager, key: &str) -> Result<(), BoxError> {
    let begin = Instant::now();
    loop {
        match locks.lock(key).wait(FREE).acquire().await {
            Ok(guard) => {
                // Without a confirmation, it is repeated, or the lease ends.
                let _confirmed = guard.release().await;
                return Ok(());
            }
            Err(error) if begin.elapsed() > FREE => {
                return Err(format!("{key} is not free after {FREE:?}: {error}").into());
            }
            Err(_) => sleep(PAUSE).await,
        }
    }
}
