//! Unpacks packages without root.

use std::fs;
use std::path::{Path, PathBuf};

use super::server::Server;
use super::shell::{both, run};

/// Downloads a server's package and its missing dependencies, and unpacks all of them into a folder.
pub(super) fn unpack(server: &Server, folder: &Path) -> Result<(), String> {
    let work = folder.with_extension("work");
    drop(fs::remove_dir_all(&work));
    let (debs, tree) = (work.join("debs"), work.join("tree"));
    for path in [&debs, &tree] {
        fs::create_dir_all(path).map_err(|error| cannot_write(path, &error))?;
    }
    download(server, &work, &debs)?;
    for deb in packages_in(&debs)? {
        let (deb, tree) = (deb.to_string_lossy(), tree.to_string_lossy());
        run(&work, "dpkg", &["-x", &deb, &tree])?;
    }
    drop(fs::remove_dir_all(folder));
    fs::rename(&tree, folder).map_err(|error| cannot_write(folder, &error))?;
    drop(fs::remove_dir_all(&work));
    Ok(())
}

/// Downloads with the system's package lists. If they are missing or old, uses separate lists.
fn download(server: &Server, work: &Path, debs: &Path) -> Result<(), String> {
    if download_with(&[], server, debs).is_ok() {
        return Ok(());
    }
    let (lists, cache) = (work.join("lists"), work.join("cache"));
    for path in [lists.join("partial"), cache.join("archives/partial")] {
        fs::create_dir_all(&path).map_err(|error| cannot_write(&path, &error))?;
    }
    let lists = format!("Dir::State::Lists={}", lists.display());
    let cache = format!("Dir::Cache={}", cache.display());
    let options = ["-o", lists.as_str(), "-o", cache.as_str()];
    let updated = run(debs, "apt-get", &[&options[..], &["update"]].concat());
    download_with(&options, server, debs).map_err(|why| both(why, updated))
}

fn download_with(options: &[&str], server: &Server, debs: &Path) -> Result<(), String> {
    let mut pretend = vec!["--simulate", "install", "--no-install-recommends"];
    pretend.extend(server.packages());
    let plan = run(debs, "apt-get", &[options, &pretend].concat())?;
    let packages = to_install(&plan);
    if packages.is_empty() {
        let package = server.package;
        return Err(format!(
            "{package} is installed and yet its program is missing"
        ));
    }
    run(
        debs,
        "apt-get",
        &[options, &["download"], &packages].concat(),
    )?;
    Ok(())
}

/// Returns the packages that a simulated installation would install:
/// `Inst redis-tools (5:7.0.15-1~deb12u1 Debian:12.5/stable [amd64])`.
fn to_install(plan: &str) -> Vec<&str> {
    let lines = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
    lines.filter_map(|line| line.split(' ').next()).collect()
}

fn packages_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| cannot_write(folder, &error))?;
    let paths = entries.flatten().map(|entry| entry.path());
    Ok(paths
        .filter(|it| it.extension().is_some_and(|end| end == "deb"))
        .collect())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}
