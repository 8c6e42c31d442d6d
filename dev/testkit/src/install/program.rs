//! A server program that was found.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::InstallError;
use super::server::Server;
use super::version::Version;

/// A program, and how to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Folders with shared libraries of its own, if it was unpacked.
    pub libraries: Vec<PathBuf>,
}

impl Program {
    /// The command which runs it, without arguments yet.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if !self.libraries.is_empty() {
            let folders: Vec<OsString> = self.libraries.iter().map(Into::into).collect();
            command.env("LD_LIBRARY_PATH", folders.join(":".as_ref()));
        }
        command
    }

    /// What it says when asked for its version.
    ///
    /// # Errors
    ///
    /// [`InstallError::Broken`] if it does not run or names none.
    pub fn version(&self) -> Result<Version, InstallError> {
        let broken = |why: String| InstallError::Broken {
            path: self.path.clone(),
            why,
        };
        let mut command = self.command();
        let output = command
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| broken(error.to_string()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(broken(format!("{}, {}", output.status, said.trim())));
        }
        let said = String::from_utf8_lossy(&output.stdout);
        Version::read(&said).ok_or_else(|| broken(format!("it says {:?}", said.trim())))
    }

    /// Answers its version if that will do.
    pub(super) fn checked(&self, server: &Server) -> Result<Version, InstallError> {
        let found = self.version()?;
        if found.is_at_least(server.least) {
            return Ok(found);
        }
        Err(InstallError::TooOld {
            path: self.path.clone(),
            found,
            least: server.least,
            variable: server.variable,
        })
    }
}
