//! A server program that was found.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::error::InstallError;
use super::server::Server;
use super::version::Version;

/// What the archive for `ZooKeeper` needs beside it, TLS included.
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

/// A program, and how to run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// Folders with shared libraries of its own, if it was unpacked.
    pub libraries: Vec<PathBuf>,
    /// What runs it, if it is an archive for Java.
    pub java: Option<Box<Self>>,
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

    /// The command which runs a class of this archive, without arguments yet.
    #[must_use]
    pub fn class(&self, options: &[&str], class: &str) -> Command {
        let mut command = self.java.as_deref().unwrap_or(self).command();
        // An archive names what it needs by full path; one that was unpacked has it beside it.
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

    /// What it says when asked for its version.
    ///
    /// # Errors
    ///
    /// [`InstallError::Broken`] if it does not run or names none.
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

    /// Answers its version if that will do.
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
