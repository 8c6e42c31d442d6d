//! Running the system's own tools.

use std::path::Path;
use std::process::{Command, Stdio};

/// How many lines of a failed tool are worth showing.
const WORTH_SHOWING: usize = 4;

/// Runs a tool in a folder, without input, and answers what it printed.
///
/// # Errors
///
/// The command and the end of its output if it cannot be run or fails.
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

/// Why something failed, with the failure before it that may be the reason.
pub(super) fn both(why: String, before: Result<String, String>) -> String {
    match before {
        Ok(_) => why,
        Err(reason) => format!("{why}\nand before that, {reason}"),
    }
}

/// Whether we may install packages.
pub(super) fn is_root() -> bool {
    run(Path::new("/"), "id", &["-u"]).is_ok_and(|id| id.trim() == "0")
}
