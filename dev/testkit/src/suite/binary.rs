//! The test binaries of the workspace, as cargo would run them.
//!
//! Only cargo knows what it gives to a test binary: its folder, its variables, where its libraries are. So `cargo
//! test` is told that [`note`] is how programs are run on this machine; it builds all binaries and "runs" each, and
//! what is printed then is read by [`Binary::of_line`].

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Job;

/// What a line begins with that tells of a test binary.
const MARK: &str = "leasehold-test-binary ";

/// The tests that call cargo, as trybuild's do. It lets one build at a time into a folder, so that a second one beside
/// it would wait, and keep another binary from running.
const BUILDING: [&str; 1] = ["ui"];

/// A test binary as cargo would run it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// Its package.
    pub package: String,
    /// The test, library or program it is made of.
    pub target: String,
    /// The folder it runs in.
    pub dir: PathBuf,
    /// The command that runs its tests.
    pub job: Job,
}

/// A line of [`note`] which is not as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a test binary did not run: what cargo told of it cannot be read")
    }
}

impl std::error::Error for Unreadable {}

/// The line which says how cargo runs a command: with the folder and the variables of this process, which cargo has
/// started in the place of that command.
///
/// # Errors
///
/// What the system says if there is no current folder.
pub fn note(command: &[String]) -> io::Result<String> {
    let variables = env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        Some((name, Value::String(value.into_string().ok()?)))
    });
    let noted = json!({
        "command": command,
        "dir": env::current_dir()?.to_string_lossy(),
        "env": variables.collect::<serde_json::Map<_, _>>(),
    });
    Ok(format!("{MARK}{noted}"))
}

/// The arguments that make cargo run everything by a command.
pub(super) fn run_by(runner: &[&str]) -> [String; 2] {
    // A list of strings looks the same in TOML.
    let setting = format!("target.'cfg(all())'.runner={}", json!(runner));
    ["--config".to_owned(), setting]
}

impl Binary {
    /// Reads a line of `cargo test`: the test binary it tells of, `None` if it is any other line.
    ///
    /// # Errors
    ///
    /// [`Unreadable`] if it is to tell of one and does not: that binary would be forgotten.
    pub fn of_line(line: &str) -> Result<Option<Self>, Unreadable> {
        let noted = line.strip_prefix(MARK);
        noted
            .map(|it| Self::of_note(it).ok_or(Unreadable))
            .transpose()
    }

    fn of_note(noted: &str) -> Option<Self> {
        let noted: Value = serde_json::from_str(noted).ok()?;
        let mut command = noted["command"].as_array()?.iter().map(text);
        let variables = noted["env"].as_object()?.iter();
        let variables: Option<Vec<_>> = variables
            .map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect();
        let job = Job {
            program: command.next()??,
            args: command.collect::<Option<_>>()?,
            env: variables?,
        };
        Some(Self {
            package: text(&noted["env"]["CARGO_PKG_NAME"])?,
            target: target(&job.program)?,
            dir: PathBuf::from(text(&noted["dir"])?),
            job,
        })
    }

    /// What it is called: `leasehold rules`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.package, self.target)
    }

    /// Whether its tests build something with cargo.
    #[must_use]
    pub fn builds(&self) -> bool {
        BUILDING.contains(&self.target.as_str())
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// What a program is made of: `rules`, if it is `…/deps/rules-0123456789abcdef`.
fn target(program: &str) -> Option<String> {
    let stem = Path::new(program).file_stem()?.to_str()?;
    let (target, _hash) = stem.rsplit_once('-').unwrap_or((stem, ""));
    Some(target.to_owned())
}
