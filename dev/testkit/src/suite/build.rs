//! Builds the test binaries.

use std::env;

use super::{Binary, Job, binary, steps};
use crate::error::Error;
use crate::workspace::Workspace;

/// Builds the test binaries as `cargo xtask test` does, and returns them with the faults of the build. Calls `echo` with
/// each line that cargo prints.
///
/// # Errors
///
/// Returns [`Error::Run`] if cargo cannot be started.
pub fn build(
    workspace: &Workspace,
    echo: impl FnMut(&str),
) -> Result<(Vec<Binary>, Vec<String>), Error> {
    run(&steps::binaries(), &own_path()?, workspace, echo)
}

/// Makes cargo build its test binaries, and returns them with the faults of the build. For `runner` see
/// [`Work::Binaries`](super::steps::Work::Binaries).
pub(super) fn run(
    build: &Job,
    runner: &str,
    workspace: &Workspace,
    mut echo: impl FnMut(&str),
) -> Result<(Vec<Binary>, Vec<String>), Error> {
    let (mut found, mut faults) = (Vec::new(), Vec::new());
    let mut noting = build.clone();
    noting.args.extend(binary::run_by(&[runner, "note"]));
    let built = noting.run(&workspace.root, |line| match Binary::of_line(line) {
        Ok(Some(binary)) => found.push(binary),
        // The binary does not run yet, so skip the line.
        Ok(None) if line.trim_start().starts_with("Running ") => {}
        Ok(None) => echo(line),
        Err(why) => faults.push(why.to_string()),
    })?;
    if let Some(why) = built.failure {
        faults.push(format!("`{}` failed: {why}", build.shown()));
    } else if found.is_empty() {
        faults.push(
            "cargo told of no test binary; is there a `runner` in its configuration?".to_owned(),
        );
    }
    Ok((found, faults))
}

/// Returns the path of this program. Call it before the build, which replaces the file: its path cannot be read then.
pub(super) fn own_path() -> Result<String, Error> {
    let path = env::current_exe().map_err(|source| Error::Run {
        command: "cargo xtask note".to_owned(),
        source,
    })?;
    Ok(path.to_string_lossy().into_owned())
}
