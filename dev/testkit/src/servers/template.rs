//! Copies of new data folders. Copying one is quicker than creating it with the tool of the server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::ServerError;
use super::setup;
use crate::install::Program;

/// A data folder as the tool of a server has created it, for one program and one set of arguments.
#[derive(Debug)]
pub(super) struct Template(PathBuf);

impl Template {
    /// Returns the template for a program. `name` differs if other arguments create other data.
    pub(super) fn of(name: &str, program: &Program) -> Self {
        let changed = fs::metadata(&program.path).and_then(|it| it.modified());
        let changed = changed.ok().and_then(|it| {
            let since = it.duration_since(std::time::UNIX_EPOCH).ok()?;
            Some(since.as_secs())
        });
        let program = program.path.to_string_lossy().replace('/', "-");
        let folder = format!("{name}{program}-{}", changed.unwrap_or_default());
        // The folder is next to the unpacked servers, which stay from run to run.
        let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
        Self(target.join("servers/templates").join(folder))
    }

    /// Copies the template to a data folder. Returns whether the template exists.
    pub(super) async fn copy_to(&self, data: &Path) -> Result<bool, ServerError> {
        if !self.0.is_dir() {
            return Ok(false);
        }
        drop(fs::remove_dir_all(data));
        copy(&self.0, data).await?;
        Ok(true)
    }

    /// Keeps a copy of a data folder as the template. Another process may do so at the same time.
    pub(super) async fn keep(&self, data: &Path) -> Result<(), ServerError> {
        let parent = self.0.parent().unwrap_or(&self.0);
        let made = fs::create_dir_all(parent).and_then(|()| tempfile::tempdir_in(parent));
        let work = made.map_err(|source| ServerError::Folder {
            path: parent.to_owned(),
            source,
        })?;
        let copied = work.path().join("data");
        copy(data, &copied).await?;
        // It fails if another process was first, whose copy is as good.
        drop(fs::rename(&copied, &self.0));
        Ok(())
    }
}

/// Copies a folder with its owners and permissions.
async fn copy(from: &Path, to: &Path) -> Result<(), ServerError> {
    let mut copy = Command::new("cp");
    copy.args(["--archive", "--sparse=always"])
        .arg(from)
        .arg(to);
    setup::complete(copy).await
}
