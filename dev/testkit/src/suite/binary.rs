//! The test binaries of the workspace, as cargo runs them.
//!
//! Only cargo knows the environment of a test binary: its folder, its variables, and the paths of its libraries. So
//! `cargo test` is configured to run programs with [`note`]. It builds all binaries and "runs" each of them.
//! [`Binary::of_line`] reads the printed lines.

use std::env;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Job;
use super::steps::CLIPPY;

/// The beginning of a line that describes a test binary.
const MARK: &str = "leasehold-test-binary ";

/// The binaries that take longest, which start first.
const LONGEST: [&str; 6] = [
    "leasehold-redis it",
    "leasehold-sql it",
    "leasehold-sqlx it",
    "leasehold-nemesis it",
    "leasehold-zookeeper it",
    "leasehold-examples it",
];

/// The number of test threads of each binary. It is more than the number of cores, because most tests mostly wait.
const THREADS: (&str, &str) = ("RUST_TEST_THREADS", "6");

/// A test binary, as cargo runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The package of the binary.
    pub package: String,
    /// The test, library or program of the binary.
    pub target: String,
    /// The name of the settings of its servers, if they are not the defaults.
    pub settings: Option<&'static str>,
    /// The folder in which it runs.
    pub dir: PathBuf,
    /// The command that runs its tests.
    pub job: Job,
}

/// The error for an invalid line of [`note`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a test binary did not run: what cargo told of it cannot be read")
    }
}

impl std::error::Error for Unreadable {}

/// Returns a line that describes how cargo runs a command. Cargo has started this process instead of the command, so
/// the line contains the folder and the variables of this process.
///
/// # Errors
///
/// Returns the error of the system if there is no current folder.
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

/// Returns the arguments that make cargo run everything with a command.
pub(super) fn run_by(runner: &[&str]) -> [String; 2] {
    // A list of strings has the same syntax in JSON and TOML.
    let setting = format!("target.'cfg(all())'.runner={}", json!(runner));
    ["--config".to_owned(), setting]
}

impl Binary {
    /// Parses a line of `cargo test`. Returns the test binary that it describes, or `None` for any other line.
    ///
    /// # Errors
    ///
    /// Returns [`Unreadable`] if the description is invalid, because the binary would otherwise be missed.
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
            .filter(|(name, _)| !CLIPPY.iter().any(|it| it.0 == name.as_str()))
            .map(|(name, value)| Some((name.clone(), text(value)?)))
            .collect();
        let job = Job {
            program: command.next()??,
            args: command.collect::<Option<_>>()?,
            env: variables?,
        };
        let mut binary = Self {
            package: text(&noted["env"]["CARGO_PKG_NAME"])?,
            target: target(&job.program)?,
            settings: None,
            dir: PathBuf::from(text(&noted["dir"])?),
            job,
        };
        let (name, threads) = THREADS;
        // The variable of the caller comes first.
        if binary.job.env.iter().all(|it| it.0 != name) {
            binary.job.env.push((name.to_owned(), threads.to_owned()));
        }
        Some(binary)
    }

    /// Returns its name, such as `leasehold rules`.
    #[must_use]
    pub fn name(&self) -> String {
        let (package, target) = (&self.package, &self.target);
        match self.settings {
            None => format!("{package} {target}"),
            Some(settings) => format!("{package} {target}, {settings}"),
        }
    }

    /// Returns its position in the order in which binaries start: the longest ones first.
    pub(super) fn rank(&self) -> usize {
        let name = self.name();
        let at = LONGEST.iter().position(|it| *it == name);
        at.unwrap_or(LONGEST.len())
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(ToOwned::to_owned)
}

/// Returns the target of a program: `rules` for `…/deps/rules-0123456789abcdef`.
fn target(program: &str) -> Option<String> {
    let stem = Path::new(program).file_stem()?.to_str()?;
    let (target, _hash) = stem.rsplit_once('-').unwrap_or((stem, ""));
    Some(target.to_owned())
}
