//! The source files of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::workspace::Workspace;

/// A source file.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    /// The displayed path.
    pub(super) shown: String,
    pub(super) text: String,
}

/// Reads `src/**/*.rs` of every member.
pub(super) fn of_workspace(workspace: &Workspace) -> Result<Vec<Source>, Error> {
    let mut sources = Vec::new();
    for member in &workspace.members {
        sources.extend(under(workspace, &member.dir.join("src"))?);
    }
    Ok(sources)
}

/// Reads every `.rs` file under a folder, sorted by path. Returns none if the folder does not exist.
pub(super) fn under(workspace: &Workspace, dir: &Path) -> Result<Vec<Source>, Error> {
    let mut paths = Vec::new();
    if dir.is_dir() {
        collect(dir, &mut paths)?;
    }
    paths.sort();
    paths
        .into_iter()
        .map(|path| read(workspace, path))
        .collect()
}

/// Reads a file.
pub(super) fn read(workspace: &Workspace, path: PathBuf) -> Result<Source, Error> {
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Source {
            shown: workspace.shown(&path),
            path,
            text,
        }),
        Err(source) => Err(Error::Read { path, source }),
    }
}

/// Adds the Rust files in a folder and its subfolders.
fn collect(dir: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let unreadable = |source| Error::Read {
        path: dir.to_owned(),
        source,
    };
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|it| it == "rs") {
            paths.push(path);
        }
    }
    Ok(())
}

/// Returns the error for the position where the parser stopped.
pub(super) fn not_parsed(source: &Source, span: proc_macro2::Span, why: &str) -> Error {
    Error::Parse {
        file: source.shown.clone(),
        line: span.start().line,
        why: why.to_owned(),
    }
}
