//! Writes the source of caller-driven IO for its test: as it is, and with one mistake each.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

const SOURCE: &str = "../../core/backends/redis/src/connection/caller_driven/drive_state.rs";

/// A name, what is taken out of the source, and what is put in its place.
const MISTAKES: [(&str, &str, &str); 4] = [
    (
        "turn_wakes_no_caller_at_its_end",
        "wakeups.wake();\n        drop((left, earlier));",
        "drop((wakeups, left, earlier));",
    ),
    (
        "dropped_caller_wakes_no_other_caller",
        "wakeups.wake();\n        drop(left);",
        "drop((wakeups, left));",
    ),
    (
        "input_during_a_turn_is_ignored",
        "let wakeups = drive.wakeups();\n        drop(drive);\n        wakeups.wake();\n        drop((left, earlier));",
        "drive.is_woken = false;\n        drop((left, earlier));",
    ),
    (
        "unpolled_caller_is_not_replaced",
        "look.is_awaited && has_not_come",
        "false",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={SOURCE}");
    println!("cargo:rerun-if-changed=build.rs");
    let source = fs::read_to_string(SOURCE)?;
    // An included file cannot have a module doc.
    let lines: Vec<_> = source
        .lines()
        .filter(|line| !line.starts_with("//!"))
        .collect();
    let source = lines.join("\n");
    let folder = env::var("OUT_DIR")?;
    let write = |name: &str, text: &str| {
        fs::write(Path::new(&folder).join(name).with_extension("rs"), text)
    };
    write("faithful", &source)?;
    for (name, taken_out, put_in) in MISTAKES {
        if source.matches(taken_out).count() != 1 {
            return Err(format!("{SOURCE} does not have exactly once: {taken_out}").into());
        }
        write(name, &source.replace(taken_out, put_in))?;
    }
    Ok(())
}
