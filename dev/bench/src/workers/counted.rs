use std::path::{Path, PathBuf};
use std::process::Command;

use crate::BoxError;

/// Returns the path of the program `counted`, next to this one. Builds it with cargo, because `cargo run` builds only
/// the program that it runs.
pub(crate) fn program() -> Result<PathBuf, BoxError> {
    let this = std::env::current_exe()?;
    let folder = this.parent().ok_or("this program is in no folder")?;
    let profile = match folder.file_name().and_then(|it| it.to_str()) {
        Some("debug") => "dev",
        Some(name) => name,
        None => return Err(format!("{} names no profile", folder.display()).into()),
    };
    let target = folder
        .parent()
        .ok_or("this program is in no target folder")?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--quiet", "--locked", "--bin", "counted"]);
    build.args(["--features", "counted", "--profile", profile]);
    build.arg("--manifest-path").arg(manifest);
    build.arg("--target-dir").arg(target);
    let built = build
        .status()
        .map_err(|error| format!("{build:?} cannot be started: {error}"))?;
    if !built.success() {
        return Err(format!("{build:?} has failed").into());
    }
    Ok(folder.join("counted"))
}
