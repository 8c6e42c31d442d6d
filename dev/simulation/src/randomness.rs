//! Replaces the randomness of the operating system by reproducible numbers.
//!
//! Hash maps, ids, and tokio's choice among ready branches use this randomness. A small library is built with the C
//! compiler. It is loaded before the C library and provides the numbers.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = include_str!("shim.c");

/// The environment variable with the seed of a process.
pub(crate) const SEED: &str = "LEASEHOLD_SIMULATION_SEED";

/// A library that replaces the randomness of the operating system.
#[derive(Debug)]
pub(crate) struct Randomness {
    folder: TempDir,
}

/// The error if processes for seeds cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Spawned {
    /// The C compiler is not installed.
    #[error("`cc` cannot be run; install gcc")]
    NoCompiler(#[source] io::Error),
    /// The C compiler cannot compile the library.
    #[error("`cc` refused the library: {0}")]
    Refused(String),
    /// A file or a process cannot be created.
    #[error("a process for a seed cannot be started")]
    Process(#[from] io::Error),
    /// A thread of this program has panicked.
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

    /// Configures a process to use the library with a seed.
    pub(crate) fn give(&self, process: &mut Command, seed: u64) {
        process.env("LD_PRELOAD", self.shim());
        process.env(SEED, seed.to_string());
    }

    fn shim(&self) -> PathBuf {
        self.folder.path().join("shim.so")
    }
}
