//! A server program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::InstallError;
use super::server::Server;
use super::version::Version;

/// The archives that the archive of `ZooKeeper` needs, including those for TLS.
const BESIDE: [&str; 11] = [
    "slf4j-simple",
    "zookeeper-jute",
    "slf4j-api",
    "netty-buffer",
    "netty-common",
    "netty-handler",
    "netty-transport",
    "netty-transport-native-epoll",
    "netty-transport-native-unix-common",
    "netty-codec",
    "netty-resolver",
];

/// A program, with everything that is needed to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The folders with its shared libraries, if it was unpacked.
    pub libraries: Vec<PathBuf>,
    /// The Java program that runs it, if it is a Java archive.
    pub java: Option<Box<Self>>,
}

impl Program {
    /// Returns the command that runs it, without arguments.
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        if !self.libraries.is_empty() {
            let folders: Vec<OsString> = self.libraries.iter().map(Into::into).collect();
            command.env("LD_LIBRARY_PATH", folders.join(":".as_ref()));
        }
        command
    }

    /// Returns the command that runs a class of this archive, without arguments.
    #[must_use]
    pub fn class(&self, options: &[&str], class: &str) -> Command {
        let mut command = self.java.as_deref().unwrap_or(self).command();
        // An archive names its dependencies by full path. If it was unpacked, they are in the same folder.
        let folder = self.path.parent().unwrap_or(&self.path);
        let beside = BESIDE.map(|it| folder.join(it).with_extension("jar"));
        let mut archives = vec![self.path.clone()];
        archives.extend(beside.into_iter().filter(|it| it.is_file()));
        let archives: Vec<OsString> = archives.into_iter().map(Into::into).collect();
        command
            .args(options)
            .arg("-cp")
            .arg(archives.join(":".as_ref()))
            .arg(class);
        command
    }

    /// Runs the program, and returns its version.
    ///
    /// # Errors
    ///
    /// Returns [`InstallError::Broken`] if it cannot be executed or prints no version.
    pub fn version(&self, server: &Server) -> Result<Version, InstallError> {
        let broken = |why: String| InstallError::Broken {
            path: self.path.clone(),
            why,
        };
        let mut command = match server.version_class {
            Some(class) => self.class(&[], class),
            None => {
                let mut command = self.command();
                command.arg("--version");
                command
            }
        };
        let output = command
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

    /// Returns the version if it is new enough.
    pub(super) fn checked(&self, server: &Server) -> Result<Version, InstallError> {
        let found = self.version(server)?;
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
