//! Installs a server's package.

use std::path::Path;

use super::daemon::HeldBack;
use super::error::InstallError;
use super::server::Server;
use super::{shell, unpack};

/// The option with which apt waits for the lock of another apt process, in seconds.
pub(super) const PATIENCE: &str = "DPkg::Lock::Timeout=300";

/// Installs the package if this process is root. Otherwise unpacks it into a folder. Returns a description for the
/// report.
pub(super) fn install(server: &Server, unpacked: &Path) -> Result<&'static str, InstallError> {
    let not_installed = |why: String| InstallError::NotInstalled {
        program: server.program,
        variable: server.variable,
        why,
    };
    let root = Path::new("/");
    if shell::run(root, "apt-get", &["--version"]).is_err() {
        let why = "there is no apt-get here, and other ways are not known".to_owned();
        return Err(not_installed(why));
    }
    if shell::is_root() {
        as_root(server, root).map_err(not_installed)?;
        Ok(", installed just now")
    } else {
        unpack::unpack(server, unpacked).map_err(not_installed)?;
        Ok(", unpacked just now")
    }
}

fn as_root(server: &Server, root: &Path) -> Result<(), String> {
    let held_back = HeldBack::hold()?;
    let mut install = vec!["-o", PATIENCE, "install", "-y", "--no-install-recommends"];
    install.extend(server.packages());
    // The package lists may be missing or old. An update error of one source is ignored, because another source may
    // contain the package.
    if shell::run(root, "apt-get", &install).is_err() {
        let updated = shell::run(root, "apt-get", &["-o", PATIENCE, "update"]);
        shell::run(root, "apt-get", &install).map_err(|why| shell::both(why, updated))?;
    }
    held_back.disable(server);
    Ok(())
}
