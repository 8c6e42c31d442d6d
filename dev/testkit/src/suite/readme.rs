//! The commands in the README, which must work.

use std::fmt;

/// The error for a text without commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoCommands;

impl fmt::Display for NoCommands {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("README.md has no line `cargo run …` in a block ```sh")
    }
}

impl std::error::Error for NoCommands {}

/// Returns every `cargo run …` in the ```` ```sh ```` blocks of a Markdown text. A line that ends in `\` is joined with
/// the next line.
///
/// # Errors
///
/// Returns [`NoCommands`] if there is no command.
pub fn commands(markdown: &str) -> Result<Vec<String>, NoCommands> {
    let mut commands = Vec::new();
    let mut fence = None;
    let mut begun = String::new();
    for line in markdown.lines().map(str::trim) {
        let ticks = line.chars().take_while(|it| *it == '`').count();
        match fence {
            None if ticks >= 3 => fence = Some((ticks, line[ticks..].trim() == "sh")),
            Some((open, _)) if ticks >= open && ticks == line.len() => fence = None,
            Some((_, true)) => match line.strip_suffix('\\') {
                Some(part) => begun.push_str(part),
                None => commands.push(std::mem::take(&mut begun) + line),
            },
            _ => {}
        }
    }
    commands.retain(|line| line.starts_with("cargo run"));
    if commands.is_empty() {
        return Err(NoCommands);
    }
    Ok(commands)
}
