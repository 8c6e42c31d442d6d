//! Finds a server program.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::error::InstallError;
use super::program::Program;
use super::server::{ARCHIVES, JAVA, Server};

/// The places in which a program is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The value of its environment variable.
    pub named: Option<PathBuf>,
    /// The value of `PATH`.
    pub path: Option<OsString>,
    /// The folder into which its package is unpacked.
    pub unpacked: PathBuf,
}

impl Places {
    /// Returns the places of this process for a server.
    #[must_use]
    pub fn of(server: &Server) -> Self {
        // Use the folder of the workspace instead of the build, so that every test binary uses the same folder as
        // `cargo xtask`.
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let workspace = here.ancestors().nth(2).unwrap_or(here);
        Self {
            named: env::var_os(server.variable)
                .filter(|it| !it.is_empty())
                .map(PathBuf::from),
            path: env::var_os("PATH"),
            unpacked: workspace.join("target/servers").join(server.package),
        }
    }
}

/// Finds a server's program.
///
/// # Errors
///
/// Returns [`InstallError::NamedInVain`] if the variable names a missing program, and [`InstallError::NotFound`] if no
/// place contains it.
pub fn find(server: &Server, places: &Places) -> Result<Program, InstallError> {
    let mut program = look(server, places)?;
    if server.version_class.is_some() {
        program.java = Some(Box::new(look(&JAVA, &Places::of(&JAVA))?));
    }
    Ok(program)
}

fn look(server: &Server, places: &Places) -> Result<Program, InstallError> {
    if let Some(path) = &places.named {
        return match path.is_file() {
            true => Ok(plain(path.clone())),
            false => Err(InstallError::NamedInVain {
                variable: server.variable,
                path: path.clone(),
            }),
        };
    }
    let folders = places.path.iter().flat_map(env::split_paths);
    let mut candidates = folders.map(|folder| folder.join(server.program));
    if let Some(path) = candidates.find(|it| it.is_file()) {
        return Ok(plain(path));
    }
    if let Some(path) = archive(server, Path::new("/")) {
        return Ok(plain(path));
    }
    if let Some(path) = newest(server, Path::new("/")) {
        return Ok(plain(path));
    }
    unpacked(server, &places.unpacked).ok_or(InstallError::NotFound {
        program: server.program,
        variable: server.variable,
    })
}

fn plain(path: PathBuf) -> Program {
    Program {
        path,
        libraries: Vec::new(),
        java: None,
    }
}

fn unpacked(server: &Server, folder: &Path) -> Option<Program> {
    let folders = ["usr/bin", "usr/sbin", "bin", "sbin"];
    let mut candidates = folders
        .iter()
        .map(|it| folder.join(it).join(server.program));
    let path = candidates
        .find(|it| it.is_file())
        .or_else(|| archive(server, folder))
        .or_else(|| newest(server, folder))?;
    let roots = ["usr/lib", "lib"].map(|it| folder.join(it));
    Some(Program {
        path,
        libraries: roots.iter().flat_map(|root| folders_of(root)).collect(),
        java: None,
    })
}

fn archive(server: &Server, root: &Path) -> Option<PathBuf> {
    server.version_class?;
    let path = root.join(ARCHIVES).join(server.program);
    path.is_file().then_some(path)
}

/// Returns the program in the folder of the newest version.
fn newest(server: &Server, root: &Path) -> Option<PathBuf> {
    let mut folders = folders_of(&root.join(server.versions?));
    let number = |path: &PathBuf| -> u32 {
        let name = path.file_name().and_then(OsStr::to_str);
        name.and_then(|it| it.parse().ok()).unwrap_or_default()
    };
    folders.sort_by_key(number);
    let mut programs = folders
        .iter()
        .rev()
        .map(|it| it.join("bin").join(server.program));
    programs.find(|it| it.is_file())
}

/// Returns the folders in a folder, such as `usr/lib/x86_64-linux-gnu`.
fn folders_of(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|it| it.path())
        .filter(|it| it.is_dir())
        .collect();
    found.sort();
    found
}
