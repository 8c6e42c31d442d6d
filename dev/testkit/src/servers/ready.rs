//! Waiting until a server answers.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

use super::error::ServerError;
use super::folder::Folder;
use crate::processes::Process;

/// A machine may be busy, and a data file large.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries: Redis takes 10 ms to start.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until a question to the server is answered well.
pub(super) async fn wait(
    process: &Mutex<Option<Process>>,
    folder: &Folder,
    ask: impl AsyncFn() -> Result<(), String>,
) -> Result<(), ServerError> {
    let begin = Instant::now();
    loop {
        let why = match ask().await {
            Ok(()) => return Ok(()),
            Err(why) => why,
        };
        let ended = process.lock().as_mut().map(Process::ended);
        let ended = ended.ok_or(ServerError::Dead)??;
        if let Some(status) = ended {
            return Err(ServerError::Ended {
                status: status.to_string(),
                log: folder.end_of_log(),
            });
        }
        if begin.elapsed() > PATIENCE {
            return Err(ServerError::Silent {
                waited: begin.elapsed(),
                why,
                log: folder.end_of_log(),
            });
        }
        sleep(PAUSE).await;
    }
}
