//! Waiting until a server answers.

use std::path::Path;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

use super::error::ServerError;
use super::folder::Folder;
use crate::processes::Process;
use crate::resp::{RawClient, RespError};

/// A machine may be busy, and a data file large.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two tries: it takes 10 ms to start.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until the server answers a PING on its unix socket. It opens that last.
pub(super) async fn wait(
    process: &Mutex<Option<Process>>,
    folder: &Folder,
) -> Result<(), ServerError> {
    let begin = Instant::now();
    loop {
        let why = match ping(&folder.socket()).await {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
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

async fn ping(socket: &Path) -> Result<(), RespError> {
    let mut client = RawClient::connect_unix(socket).await?;
    match client.command(["PING"]).await {
        // Whoever asks for a password is up.
        Err(RespError::Refused(why)) if why.starts_with("NOAUTH") => Ok(()),
        Err(RespError::Refused(why)) if why.starts_with("NOPERM") => Ok(()),
        answer => answer.map(drop),
    }
}
