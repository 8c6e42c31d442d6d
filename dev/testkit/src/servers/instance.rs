//! A running server program with its process, folder and port.

use std::io::{self, Write};
use std::process::{self, Command, Stdio};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::time::sleep;

use super::certificates::Certificates;
use super::error::ServerError;
use super::folder::Folder;
use crate::install::{self, InstallError, Places, Program, Server};
use crate::port::Port;
use crate::processes::Process;

/// The timeout for the start of a server on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(2);

/// The common part of all test servers. The server is killed, and its folder is removed, when this value is dropped, and
/// when the test process ends in any way.
#[derive(Debug)]
#[must_use = "the server is killed when this is dropped"]
pub struct Instance {
    // The process is dropped before its folder and port.
    process: Mutex<Option<Process>>,
    /// The arguments that an environment variable adds.
    added_settings: Vec<String>,
    pub(super) program: Program,
    pub(super) folder: Folder,
    pub(super) port: Port,
}

/// Finds the program of a server. If there is none, ends this process with the one line that matters, because without
/// it each test would fail with the same line.
fn find(server: &Server) -> Result<Program, ServerError> {
    match install::find(server, &Places::of(server)) {
        Err(missing @ InstallError::NotFound { .. }) => {
            static ENDING: Mutex<()> = Mutex::new(());
            // Concurrent tests wait here for the end of the process.
            let _first = ENDING.lock();
            // Tests only capture what macros print.
            drop(writeln!(io::stderr(), "\nerror: {missing}"));
            process::exit(1)
        }
        found => Ok(found?),
    }
}

impl Instance {
    pub(super) fn prepare(server: &Server) -> Result<Self, ServerError> {
        Ok(Self {
            process: Mutex::new(None),
            added_settings: server.added_settings(),
            program: find(server)?,
            folder: Folder::make()?,
            port: Port::reserve().map_err(ServerError::Port)?,
        })
    }

    /// Returns its port on `127.0.0.1`.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Returns the process id, or `None` after it was killed.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.process.lock().as_ref().map(Process::pid)
    }

    /// Stops the server with `SIGSTOP`. It still accepts connections and data up to the size of their buffers, but does
    /// not reply.
    ///
    /// # Errors
    ///
    /// Returns [`ServerError::Dead`] if it was killed, and [`ServerError::Process`] if it has ended by itself.
    pub fn pause(&self) -> Result<(), ServerError> {
        let mut process = self.process.lock();
        Ok(process.as_mut().ok_or(ServerError::Dead)?.pause()?)
    }

    /// Continues the server after [`pause`](Self::pause).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`pause`](Self::pause).
    pub fn resume(&self) -> Result<(), ServerError> {
        let mut process = self.process.lock();
        Ok(process.as_mut().ok_or(ServerError::Dead)?.resume()?)
    }

    /// Kills the server with `SIGKILL`. It keeps its port and its folder.
    pub fn kill(&self) {
        drop(self.process.lock().take());
    }

    pub(super) fn last_words(&self) -> String {
        self.folder.end_of_log()
    }

    /// Starts the program in its folder.
    pub(super) fn start(
        &self,
        mut command: Command,
        certificates: Option<&Certificates>,
    ) -> Result<(), ServerError> {
        command.args(&self.added_settings);
        let (output, errors) = self.folder.prepare(certificates)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        *self.process.lock() = Some(Process::start_in(self.folder.path(), command)?);
        Ok(())
    }

    /// Waits until `ask` returns `Ok`.
    pub(super) async fn until_ready(
        &self,
        ask: impl AsyncFn() -> Result<(), String>,
    ) -> Result<(), ServerError> {
        let begin = Instant::now();
        loop {
            let Err(why) = ask().await else {
                return Ok(());
            };
            let ended = self.process.lock().as_mut().map(Process::ended);
            let log = || self.folder.end_of_log();
            if let Some(status) = ended.ok_or(ServerError::Dead)?? {
                let (status, log) = (status.to_string(), log());
                return Err(ServerError::Ended { status, log });
            }
            let waited = begin.elapsed();
            if waited > PATIENCE {
                let log = log();
                return Err(ServerError::Silent { waited, why, log });
            }
            sleep(PAUSE).await;
        }
    }
}

/// Makes a server with a field `instance` dereference to its [`Instance`].
macro_rules! is_instance {
    ($server:ty) => {
        impl std::ops::Deref for $server {
            type Target = Instance;

            fn deref(&self) -> &Instance {
                &self.instance
            }
        }
    };
}

pub(super) use is_instance;
