//! The programs that the tests need.

use std::process::{Command, Stdio};

use crate::error::Error;
use crate::workspace::cargo;

/// Calls every program that the tests need, and returns their versions.
///
/// # Errors
///
/// Returns [`Error::MissingTool`] with a remedy for the first program that cannot be called.
pub(super) fn find() -> Result<Vec<String>, Error> {
    let cargo = cargo();
    Ok(vec![
        version(&cargo, &["--version"], "https://rustup.rs")?,
        version(
            &cargo,
            &["fmt", "--version"],
            "rustup component add rustfmt",
        )?,
        version(
            &cargo,
            &["clippy", "--version"],
            "rustup component add clippy",
        )?,
        version(
            "clippy-driver",
            &["--version"],
            "add the folder of cargo to PATH",
        )?,
    ])
}

fn version(program: &str, args: &[&str], remedy: &'static str) -> Result<String, Error> {
    let missing = |why: String| Error::MissingTool {
        tool: format!("{program} {}", args.join(" ")),
        why: why.trim().to_owned(),
        remedy,
    };
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| missing(error.to_string()))?;
    if output.status.success() {
        let said = String::from_utf8_lossy(&output.stdout);
        Ok(said.trim().to_owned())
    } else {
        Err(missing(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ))
    }
}
