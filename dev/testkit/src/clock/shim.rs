//! A wall clock of its own for a process.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::processes::ChildBuilder;

const SOURCE: &str = include_str!("shim.c");

/// A wrong wall clock for processes that are started with it. Their other clocks go as they should.
///
/// A small library, built with the C compiler, is loaded before the C library and shifts its answers.
#[derive(Debug)]
pub struct ClockShim {
    folder: TempDir,
}

/// There is no wrong clock.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClockError {
    /// Its files cannot be written.
    #[error("the clock's files cannot be written")]
    File(#[source] io::Error),
    /// The C compiler is not there.
    #[error("`cc` cannot be run; install gcc")]
    NoCompiler(#[source] io::Error),
    /// The C compiler does not like it.
    #[error("`cc` refused the clock: {0}")]
    Refused(String),
}

impl ClockShim {
    /// A clock that is ahead by so many seconds, or behind if there are fewer than none.
    ///
    /// # Errors
    ///
    /// [`ClockError`] if it cannot be built.
    pub fn off_by(seconds: i64) -> Result<Self, ClockError> {
        let folder = tempfile::tempdir().map_err(ClockError::File)?;
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
        shim.set(seconds)?;
        Ok(shim)
    }

    /// Lets it jump, for the processes that have it already, too.
    ///
    /// # Errors
    ///
    /// [`ClockError::File`] if it cannot be set.
    pub fn set(&self, seconds: i64) -> Result<(), ClockError> {
        let nanos = seconds.saturating_mul(1_000_000_000);
        // Written over and never emptied: processes read it at any time.
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(false);
        let mut file = file.open(self.offset()).map_err(ClockError::File)?;
        file.write_all(&nanos.to_ne_bytes())
            .map_err(ClockError::File)
    }

    /// Lets it stand at so many microseconds after 1970, for the processes that have it already, too. It does not go on
    /// again.
    ///
    /// # Errors
    ///
    /// [`ClockError::File`] if it cannot be set.
    pub fn stand_at(&self, micros: u64) -> Result<(), ClockError> {
        let nanos = i64::try_from(micros.saturating_mul(1000)).unwrap_or(i64::MAX);
        let file = OpenOptions::new().write(true).open(self.offset());
        let file = file.map_err(ClockError::File)?;
        file.write_all_at(&nanos.to_ne_bytes(), 8)
            .map_err(ClockError::File)
    }

    /// Gives it to a process.
    pub fn worn_by(&self, process: ChildBuilder) -> ChildBuilder {
        let worn = self.variables().into_iter();
        worn.fold(process, |process, (name, value)| process.env(name, value))
    }

    /// What a process that wears it finds in its environment.
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
