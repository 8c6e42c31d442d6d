//! Runs the tools that set up a database's folder.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use super::error::ServerError;

/// The ids of `nobody` and `nogroup`, for servers that refuse to run as root.
const NOBODY: u32 = 65_534;

/// The maximum shown output of a failed tool, in bytes.
const WORTH_SHOWING: usize = 600;

/// Runs a tool to its end.
pub(super) fn run(mut command: Command) -> Result<(), ServerError> {
    let shown = format!("{command:?}");
    let failed = |why: String| ServerError::Setup {
        command: shown.clone(),
        why,
    };
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let end = said.len().saturating_sub(WORTH_SHOWING);
    let end = String::from_utf8_lossy(&said[end..]).into_owned();
    Err(failed(format!("{}\n{end}", output.status)))
}

/// Runs a tool to its end, without blocking the runtime.
pub(super) async fn complete(command: Command) -> Result<(), ServerError> {
    let shown = format!("{command:?}");
    let ran = tokio::task::spawn_blocking(move || run(command)).await;
    ran.unwrap_or_else(|panic| {
        let why = panic.to_string();
        Err(ServerError::Setup {
            command: shown,
            why,
        })
    })
}

/// Returns whether root owns a folder of this process, so this process is root.
pub(super) fn is_roots(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|it| it.uid() == 0)
}

/// Makes a command run as nobody if this process is root.
pub(super) fn never_as_root(command: Command, folder: &Path) -> Command {
    if !is_roots(folder) {
        return command;
    }
    let mut lowered = Command::new("setpriv");
    lowered
        .arg(format!("--reuid={NOBODY}"))
        .arg(format!("--regid={NOBODY}"))
        .arg("--clear-groups")
        .arg(command.get_program())
        .args(command.get_args());
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            lowered.env(name, value);
        }
    }
    lowered
}

/// Writes a file that only the user of the server can read. Postgres refuses a private key that others can read.
pub(super) fn private_file(folder: &Path, name: &str, content: &str) -> io::Result<()> {
    let file = folder.join(name);
    std::fs::write(&file, content)?;
    std::fs::set_permissions(&file, Permissions::from_mode(0o600))?;
    match is_roots(folder) {
        true => chown(&file, Some(NOBODY), Some(NOBODY)),
        false => Ok(()),
    }
}

/// Creates a data folder in the folder of a server, for the user of the server.
pub(super) fn data_folder(folder: &Path, name: &str) -> io::Result<()> {
    let data = folder.join(name);
    if data.exists() {
        return Ok(());
    }
    std::fs::create_dir(&data)?;
    // Postgres refuses a folder that others can read.
    std::fs::set_permissions(&data, Permissions::from_mode(0o700))?;
    if is_roots(folder) {
        // The parent folder must be accessible, too.
        std::fs::set_permissions(folder, Permissions::from_mode(0o711))?;
        chown(&data, Some(NOBODY), Some(NOBODY))?;
    }
    Ok(())
}
