//! The operating system's randomness, made the same each time.
//!
//! Hash maps, ids, and tokio's choice among branches that are ready at once all draw on it. A small library, built with
//! the C compiler, is loaded before the C library and answers in its place.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = include_str!("shim.c");

/// What tells a process which seed it is to run.
pub(crate) const SEED: &str = "LEASEHOLD_SIMULATION_SEED";

/// A library that answers for the operating system.
#[derive(Debug)]
pub(crate) struct Randomness {
    folder: TempDir,
}

/// The processes that run seeds cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Spawned {
    /// The C compiler is not there.
    #[error("`cc` cannot be run; install gcc")]
    NoCompiler(#[source] io::Error),
    /// The C compiler does not like the library.
    #[error("`cc` refused the library: {0}")]
    Refused(String),
    /// A file or a process cannot be made.
    #[error("a process for a seed cannot be started")]
    Process(#[from] io::Error),
    /// One of our own threads broke.
    #[error("a thread that runs seeds has panicked")]
    Worker,
}

impl Randomness {
    pub(crate) fn build() -> Result<Self, Spawned> {
        let folder = tempfile::tempdir()?;
        let source = folder.path().join("shim.c");
        fs::write(&source, SOURCE)?;
        let it = Self { folder };
        let options = ["-shared", "-fPIC", "-O2", "-o"].map(OsStr::new);
        let mut compiler = Command::new("cc");
        compiler.args(options).arg(it.shim()).arg(&source);
        let built = compiler.output().map_err(Spawned::NoCompiler)?;
        if built.status.success() {
            return Ok(it);
        }
        Err(Spawned::Refused(
            String::from_utf8_lossy(&built.stderr).into_owned(),
        ))
    }

    /// Gives it to a process, for a seed.
    pub(crate) fn give(&self, process: &mut Command, seed: u64) {
        process.env("LD_PRELOAD", self.shim());
        process.env(SEED, seed.to_string());
    }

    fn shim(&self) -> PathBuf {
        self.folder.path().join("shim.so")
    }
}
