//! Runs tools of the system.

use std::path::Path;
use std::process::{Command, Stdio};

/// The maximum number of shown lines of a failed tool.
const WORTH_SHOWING: usize = 4;

/// Runs a tool in a folder, without input, and returns its output.
///
/// # Errors
///
/// Returns the command and the end of its output if it cannot be executed or fails.
pub(super) fn run(folder: &Path, program: &str, args: &[&str]) -> Result<String, String> {
    let shown = format!("`{program} {}`", args.join(" "));
    let output = Command::new(program)
        .args(args)
        .current_dir(folder)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(printed.into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = printed.lines().chain(complaint.lines()).collect();
    let end = lines[lines.len().saturating_sub(WORTH_SHOWING)..].join("\n  ");
    Err(format!("{shown}: {}\n  {end}", output.status))
}

/// Returns a failure, with an earlier failure that may be its cause.
pub(super) fn both(why: String, before: Result<String, String>) -> String {
    match before {
        Ok(_) => why,
        Err(reason) => format!("{why}\nand before that, {reason}"),
    }
}

/// Returns whether this process may install packages.
pub(super) fn is_root() -> bool {
    run(Path::new("/"), "id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}
