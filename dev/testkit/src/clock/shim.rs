//! Gives a process its own wall clock.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::processes::ChildBuilder;

const SOURCE: &str = include_str!("shim.c");

/// A wrong wall clock for processes that are started with it. Their other clocks are correct.
///
/// A small library is built with the C compiler. It is loaded before the C library and changes the results of its clock
/// functions.
#[derive(Debug)]
pub struct ClockShim {
    folder: TempDir,
}

/// The error if the clock cannot be built or set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClockError {
    /// A file cannot be written.
    #[error("the clock's files cannot be written")]
    File(#[source] io::Error),
    /// The C compiler is not installed.
    #[error("`cc` cannot be run; install gcc")]
    NoCompiler(#[source] io::Error),
    /// The C compiler cannot compile the library.
    #[error("`cc` refused the clock: {0}")]
    Refused(String),
}

impl ClockShim {
    /// Builds a clock that is ahead by `seconds`, or behind if `seconds` is negative.
    ///
    /// # Errors
    ///
    /// Returns [`ClockError`] if it cannot be built.
    pub fn off_by(seconds: i64) -> Result<Self, ClockError> {
        Self::off_by_millis(seconds.saturating_mul(1000))
    }

    /// Builds a clock that is ahead by `millis` milliseconds, or behind if `millis` is negative.
    ///
    /// # Errors
    ///
    /// Returns [`ClockError`] if it cannot be built.
    pub fn off_by_millis(millis: i64) -> Result<Self, ClockError> {
        let folder = tempfile::tempdir().map_err(ClockError::File)?;
        // A server may run as another user.
        let readable = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), readable).map_err(ClockError::File)?;
        let shim = Self { folder };
        let source = shim.folder.path().join("shim.c");
        fs::write(&source, SOURCE).map_err(ClockError::File)?;
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O2", "-o"])
            .arg(shim.preloaded())
            .arg(&source)
            .arg("-ldl")
            .output()
            .map_err(ClockError::NoCompiler)?;
        if !built.status.success() {
            let said = String::from_utf8_lossy(&built.stderr).into_owned();
            return Err(ClockError::Refused(said));
        }
        shim.set_nanos(millis.saturating_mul(1_000_000))?;
        Ok(shim)
    }

    /// Sets how far the clock is ahead, also for running processes.
    ///
    /// # Errors
    ///
    /// Returns [`ClockError::File`] if it cannot be set.
    pub fn set(&self, seconds: i64) -> Result<(), ClockError> {
        self.set_nanos(seconds.saturating_mul(1_000_000_000))
    }

    fn set_nanos(&self, nanos: i64) -> Result<(), ClockError> {
        // Overwrite the file without truncating it, because processes may read it at any time.
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        let mut file = file.open(self.offset()).map_err(ClockError::File)?;
        file.write_all(&nanos.to_ne_bytes())
            .map_err(ClockError::File)
    }

    /// Stops the clock at `micros` microseconds after 1970, also for running processes. It does not continue.
    ///
    /// # Errors
    ///
    /// Returns [`ClockError::File`] if it cannot be set.
    pub fn stand_at(&self, micros: u64) -> Result<(), ClockError> {
        let nanos = i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX);
        let file = OpenOptions::new().write(true).open(self.offset());
        let file = file.map_err(ClockError::File)?;
        file.write_all_at(&nanos.to_ne_bytes(), 8)
            .map_err(ClockError::File)
    }

    /// Makes a process use this clock.
    pub fn worn_by(&self, process: ChildBuilder) -> ChildBuilder {
        let worn = self.variables().into_iter();
        worn.fold(process, |process, (name, value)| process.env(name, value))
    }

    /// Returns the environment variables for a process that uses this clock.
    pub(crate) fn variables(&self) -> [(&'static str, PathBuf); 2] {
        [
            ("LD_PRELOAD", self.preloaded()),
            ("LEASEHOLD_CLOCK_OFFSET", self.offset()),
        ]
    }

    fn preloaded(&self) -> PathBuf {
        self.folder.path().join("shim.so")
    }

    fn offset(&self) -> PathBuf {
        self.folder.path().join("offset")
    }
}
