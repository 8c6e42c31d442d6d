//! Prevents a package from starting its daemon.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::server::Server;
use super::shell;

/// The script that Debian's maintainer scripts call before they start a service.
const POLICY: &str = "/usr/sbin/policy-rc.d";
/// The exit code 101 means "forbidden".
const FORBID: &str = "#!/bin/sh\nexit 101\n";

/// While this value exists, an installed package does not start a service.
#[derive(Debug)]
pub(super) struct HeldBack {
    /// Whether this process has written the policy, which is then removed at the end.
    ours: bool,
}

impl HeldBack {
    /// Forbids the start of services, unless this machine has its own policy.
    pub(super) fn hold() -> Result<Self, String> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o755)
            .open(POLICY);
        match file {
            Ok(mut file) => {
                let held = Self { ours: true };
                let written = file.write_all(FORBID.as_bytes());
                written.map_err(|error| format!("cannot write {POLICY}: {error}"))?;
                Ok(held)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(Self { ours: false }),
            Err(error) => Err(format!("cannot write {POLICY}: {error}")),
        }
    }

    /// Stops and disables the service. It may be running if the machine's own policy has allowed its start.
    pub(super) fn disable(&self, server: &Server) {
        let Some(service) = server.service else {
            return;
        };
        let root = Path::new("/");
        // Both commands fail on machines without services, where nothing was started.
        if !self.ours {
            drop(shell::run(root, "service", &[service, "stop"]));
        }
        drop(shell::run(root, "update-rc.d", &[service, "disable"]));
    }
}

impl Drop for HeldBack {
    fn drop(&mut self) {
        if self.ours {
            drop(fs::remove_file(POLICY));
        }
    }
}
