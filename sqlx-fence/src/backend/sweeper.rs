//! Deletes old rows, a few at a time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sqlx::Pool;
use tokio::runtime::Handle;

use super::database::LockDatabase;

/// The interval between two batches. A backend checks a thousand rows in each batch.
const INTERVAL: Duration = Duration::from_secs(10);

/// The progress through the keys.
#[derive(Debug, Default)]
pub(super) struct Sweeper {
    progress: Mutex<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The time of the last batch, or `None` before the first batch.
    last: Option<Instant>,
    /// The last key of the last batch.
    after: String,
}

impl Sweeper {
    /// Checks the next batch in the background if it is due.
    pub(super) fn sweep_if_due<DB: LockDatabase>(self: &Arc<Self>, pool: &Pool<DB>) {
        let Ok(runtime) = Handle::try_current() else {
            return;
        };
        let Some(after) = self.due() else {
            return;
        };
        let (sweeper, pool) = (Arc::clone(self), pool.clone());
        runtime.spawn(async move {
            // After an error, the next batch begins with the same key.
            if let Ok(mut connection) = pool.acquire().await
                && let Ok(last) = DB::sweep(&mut connection, &after).await
            {
                sweeper.progress().after = last.unwrap_or_default();
            }
        });
    }

    /// Returns the key after which the next batch begins, if the batch is due.
    fn due(&self) -> Option<String> {
        let mut progress = self.progress();
        if progress.last.is_some_and(|it| it.elapsed() < INTERVAL) {
            return None;
        }
        progress.last = Some(Instant::now());
        Some(progress.after.clone())
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
