//! The folder of a server.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::certificates::Certificates;
use super::error::ServerError;

/// The file with the output of the server.
const LOG: &str = "log";
/// The maximum number of shown lines of the log.
const WORTH_SHOWING: usize = 10;
/// The unix socket.
const SOCKET: &str = "redis.sock";

/// A temporary folder with a server's data, socket, log and certificates.
#[derive(Debug)]
pub(super) struct Folder(TempDir);

impl Folder {
    pub(super) fn make() -> Result<Self, ServerError> {
        let made = tempfile::Builder::new().prefix("leasehold-").tempdir();
        made.map(Self)
            .map_err(|source| cannot_write(&std::env::temp_dir(), source))
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.path().join(SOCKET)
    }

    /// Writes the files that a server needs for its start, and opens its log for output and errors.
    pub(super) fn prepare(
        &self,
        certificates: Option<&Certificates>,
    ) -> Result<(File, File), ServerError> {
        let written = certificates.map_or(Ok(()), |it| it.write(self.path()));
        written
            .and_then(|()| File::create(self.path().join(LOG)))
            .and_then(|log| Ok((log.try_clone()?, log)))
            .map_err(|source| cannot_write(self.path(), source))
    }

    /// Deletes everything in it.
    pub(super) fn empty(&self) -> Result<(), ServerError> {
        empty(self.path()).map_err(|source| cannot_write(self.path(), source))
    }

    pub(super) fn end_of_log(&self) -> String {
        let text = fs::read(self.path().join(LOG)).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(WORTH_SHOWING)..].join("\n")
    }
}

fn empty(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            fs::remove_dir_all(path)?;
        } else {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn cannot_write(path: &Path, source: io::Error) -> ServerError {
    ServerError::Folder {
        path: path.to_owned(),
        source,
    }
}
