//! Checks whether the published crates build with the oldest dependencies that their manifests allow.
//!
//! The check copies the crates without their test dependencies, selects the oldest version of each direct dependency,
//! and checks them with all features. This option of cargo is unstable. The check sets the variable that enables it, so
//! no other toolchain is needed.

use std::fs;
use std::io;
use std::path::Path;

use toml::{Table, Value};

use crate::error::Error;
use crate::suite::Job;
use crate::workspace::{Member, Workspace, cargo};

/// The parts of a manifest that are removed.
const FOR_TESTS: [&str; 3] = ["bench", "dev-dependencies", "test"];

/// Checks the crates, and calls `say` with the output of cargo. Returns whether they build.
///
/// # Errors
///
/// Returns [`Error::Read`] or [`Error::Run`] if the check cannot be executed.
pub fn check(workspace: &Workspace, mut say: impl FnMut(&str)) -> Result<bool, Error> {
    let copy = workspace.root.join("target/minimal-versions");
    let published: Vec<&Member> = workspace
        .members
        .iter()
        .filter(|it| it.publishable && it.lib_target.is_some())
        .collect();
    copy_all(workspace, &published, &copy).map_err(|source| Error::Read {
        path: copy.clone(),
        source,
    })?;
    let mut update = Job::new(&cargo(), ["update", "-Z", "direct-minimal-versions"]);
    update
        .env
        .push(("RUSTC_BOOTSTRAP".to_owned(), "1".to_owned()));
    let check = ["check", "--locked", "--workspace", "--all-features"];
    for job in [update, Job::new(&cargo(), check)] {
        if let Some(why) = job.run(&copy, &mut say)?.failure {
            say(&format!("{} failed: {why}", job.shown()));
            return Ok(false);
        }
    }
    Ok(true)
}

fn copy_all(workspace: &Workspace, members: &[&Member], to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    let names = members.iter().map(|it| workspace.shown(&it.dir));
    let names: Vec<Value> = names.map(Value::String).collect();
    let mut root = manifest(&workspace.root)?;
    root.remove("profile");
    if let Some(Value::Table(workspace)) = root.get_mut("workspace") {
        workspace.remove("default-members");
        workspace.insert("members".to_owned(), Value::Array(names));
    }
    fs::write(to.join("Cargo.toml"), root.to_string())?;
    for member in members {
        let folder = to.join(workspace.shown(&member.dir));
        copy_folder(&member.dir.join("src"), &folder.join("src"))?;
        let mut its_own = manifest(&member.dir)?;
        for part in FOR_TESTS {
            its_own.remove(part);
        }
        fs::write(folder.join("Cargo.toml"), its_own.to_string())?;
        // The manifest names this file.
        fs::copy(member.dir.join("README.md"), folder.join("README.md"))?;
    }
    Ok(())
}

fn manifest(folder: &Path) -> io::Result<Table> {
    let text = fs::read_to_string(folder.join("Cargo.toml"))?;
    text.parse().map_err(io::Error::other)
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(name) = path.file_name() else {
            continue;
        };
        if path.is_dir() {
            copy_folder(&path, &to.join(name))?;
        } else {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}
