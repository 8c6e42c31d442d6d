//! Deletes old rows, a few at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Pool;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::database::LockDatabase;

/// The interval between two pages with few old rows. A page has a thousand rows.
const INTERVAL: Duration = Duration::from_secs(10);

/// The number of old rows in a page, from which the next page follows after a short pause.
const MANY: u64 = 100;

/// The shortest pause between two pages. A longer pause has the ninefold time of the last page, so that the deletions
/// use at most a tenth of a connection.
const LEAST_PAUSE: Duration = Duration::from_millis(100);
const SHARE: u32 = 9;

/// The progress through the keys.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The end of the last page, or `None` before the first page.
    last: Option<Instant>,
    /// The last key of the last page.
    after: String,
    task: Option<JoinHandle<()>>,
}

impl Sweeper {
    /// Checks the next page in the background if it is due, and continues while pages contain many old rows.
    pub(super) fn sweep_if_due<DB: LockDatabase>(self: &Arc<Self>, pool: &Pool<DB>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let mut progress = self.progress();
        let runs = progress.task.as_ref().is_some_and(|it| !it.is_finished());
        if runs || progress.last.is_some_and(|it| it.elapsed() < INTERVAL) {
            return;
        }
        let (sweeper, pool) = (Arc::clone(self), pool.clone());
        progress.task = Some(runtime.spawn(async move {
            while let Some(pause) = sweeper.sweep(&pool).await {
                sleep(pause).await;
            }
        }));
    }

    /// Checks one page. Returns the pause before the next page if this page contained many old rows.
    async fn sweep<DB: LockDatabase>(&self, pool: &Pool<DB>) -> Option<Duration> {
        let after = self.progress().after.clone();
        let mut connection = pool.acquire().await.ok()?;
        let begin = Instant::now();
        let swept = DB::sweep(&mut connection, DB::prepares(pool), &after).await;
        let mut progress = self.progress();
        progress.last = Some(Instant::now());
        // After an error, the next page begins with the same key.
        let swept = swept.ok()?;
        progress.after = swept.last.unwrap_or_default();
        (swept.deleted >= MANY).then(|| (begin.elapsed() * SHARE).max(LEAST_PAUSE))
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
