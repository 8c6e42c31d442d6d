//! The workspace, as reported by cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::error::Error;

/// The current workspace.
#[derive(Debug, Clone)]
pub struct Workspace {
    /// The root folder.
    pub root: PathBuf,
    /// The packages.
    pub members: Vec<Member>,
}

/// One package of the workspace.
#[derive(Debug, Clone)]
pub struct Member {
    /// The name of the package.
    pub name: String,
    /// The folder of the package.
    pub dir: PathBuf,
    /// Whether it may be published.
    pub publishable: bool,
    /// The sets of features that are checked alone, from `package.metadata.feature-sets`. Each is a list with commas.
    pub feature_sets: Vec<String>,
    /// The library, if the package has one.
    pub lib_target: Option<Library>,
}

/// The library target of a package.
#[derive(Debug, Clone)]
pub struct Library {
    /// The name of the library in its own code, such as `leasehold_tower`.
    pub name: String,
    /// The root file, such as `…/src/lib.rs`.
    pub root: PathBuf,
}

impl Workspace {
    /// Reads the workspace of the current folder from cargo.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Run`] if cargo cannot be started, and [`Error::Metadata`] if it fails or returns an unexpected
    /// answer.
    pub fn read() -> Result<Self, Error> {
        let mut command = Command::new(cargo());
        command.args(["metadata", "--no-deps", "--format-version", "1", "--locked"]);
        let output = command
            .stdin(Stdio::null())
            .output()
            .map_err(|source| Error::Run {
                command: "cargo metadata".to_owned(),
                source,
            })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Error::Metadata(said.trim().to_owned()));
        }
        Self::parse(&String::from_utf8_lossy(&output.stdout))
    }

    /// Parses the output of `cargo metadata`.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Metadata`] if a required field is missing.
    pub fn parse(json: &str) -> Result<Self, Error> {
        let value: Value =
            serde_json::from_str(json).map_err(|error| Error::Metadata(error.to_string()))?;
        let packages = value["packages"]
            .as_array()
            .ok_or_else(|| Error::Metadata("it has no `packages`".to_owned()))?;
        Ok(Self {
            root: PathBuf::from(text(&value, "workspace_root")?),
            members: packages.iter().map(member).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the displayed form of a path: relative to the root, with `/`.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        let short = path.strip_prefix(&self.root).unwrap_or(path);
        short.to_string_lossy().replace('\\', "/")
    }
}

/// Returns the cargo that runs this process, so that child processes use the same toolchain.
#[must_use]
pub fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

fn member(package: &Value) -> Result<Member, Error> {
    let manifest = PathBuf::from(text(package, "manifest_path")?);
    let feature_sets = package["metadata"]["feature-sets"].as_array();
    let feature_sets = feature_sets.into_iter().flatten().filter_map(Value::as_str);
    Ok(Member {
        name: text(package, "name")?.to_owned(),
        dir: manifest.parent().unwrap_or(&manifest).to_owned(),
        // `publish = false` is an empty list of registries.
        publishable: package["publish"]
            .as_array()
            .is_none_or(|to| !to.is_empty()),
        feature_sets: feature_sets.map(ToOwned::to_owned).collect(),
        lib_target: library(package)?,
    })
}

fn library(package: &Value) -> Result<Option<Library>, Error> {
    let kinds = ["lib", "rlib", "dylib", "cdylib", "staticlib", "proc-macro"];
    let is_library = |target: &&Value| {
        let of = target["kind"].as_array().into_iter().flatten();
        of.filter_map(Value::as_str)
            .any(|kind| kinds.contains(&kind))
    };
    let mut targets = package["targets"].as_array().into_iter().flatten();
    let Some(target) = targets.find(is_library) else {
        return Ok(None);
    };
    Ok(Some(Library {
        name: text(target, "name")?.replace('-', "_"),
        root: PathBuf::from(text(target, "src_path")?),
    }))
}

fn text<'a>(value: &'a Value, field: &str) -> Result<&'a str, Error> {
    value[field]
        .as_str()
        .ok_or_else(|| Error::Metadata(format!("it has no `{field}`")))
}
