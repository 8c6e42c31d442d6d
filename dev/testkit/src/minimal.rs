//! Checks whether the published crates build with the oldest dependencies that their manifests allow, and show no other
//! crates in their API than those in their manifests.
//!
//! The check copies the crates without their test dependencies, selects the oldest version of each direct dependency,
//! and checks them with all features. A type of another crate in a public signature couples the versions of both
//! crates, so `package.metadata.public-dependencies` lists these crates, each with the reason, and the compiler refuses
//! others. These options of cargo are unstable. The check sets the variable that enables them, so no other toolchain is
//! needed.

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
    let update = "update -Z direct-minimal-versions";
    let check = "check -Z public-dependency --locked --workspace --all-features";
    for words in [update, check] {
        let mut job = Job::new(&cargo(), words.split_whitespace());
        job.env.push(("RUSTC_BOOTSTRAP".to_owned(), "1".to_owned()));
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
        if let Some(Value::Table(rust)) =
            workspace.get_mut("lints").and_then(|it| it.get_mut("rust"))
        {
            let deny = Value::String("deny".to_owned());
            rust.insert("exported_private_dependencies".to_owned(), deny);
        }
    }
    fs::write(to.join("Cargo.toml"), root.to_string())?;
    for member in members {
        let folder = to.join(workspace.shown(&member.dir));
        copy_folder(&member.dir.join("src"), &folder.join("src"))?;
        let mut its_own = manifest(&member.dir)?;
        for part in FOR_TESTS {
            its_own.remove(part);
        }
        mark_public_dependencies(&mut its_own, workspace);
        fs::write(folder.join("Cargo.toml"), its_own.to_string())?;
        // The manifest names this file.
        fs::copy(member.dir.join("README.md"), folder.join("README.md"))?;
    }
    Ok(())
}

/// Marks the dependencies that a crate may show in its API. Crates of the same workspace are released together, so they
/// are among them.
fn mark_public_dependencies(manifest: &mut Table, workspace: &Workspace) {
    let metadata = manifest.get("package").and_then(|it| it.get("metadata"));
    let listed = metadata.and_then(|it| it.get("public-dependencies"));
    let listed = listed.and_then(Value::as_table).into_iter();
    let mut shown: Vec<String> = listed.flat_map(Table::keys).cloned().collect();
    shown.extend(workspace.members.iter().map(|it| it.name.clone()));
    let Some(Value::Table(dependencies)) = manifest.get_mut("dependencies") else {
        return;
    };
    for (name, dependency) in dependencies {
        if let (true, Value::Table(dependency)) = (shown.contains(name), dependency) {
            dependency.insert("public".to_owned(), Value::Boolean(true));
        }
    }
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
