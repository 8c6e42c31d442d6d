//! A workspace in a temporary folder with one library, whose files a test writes.

use std::fs;
use std::path::Path;

use leasehold_testkit::lint::{Check, Verdict};
use leasehold_testkit::workspace::{Library, Member, Workspace};

pub(crate) type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Checks a library with these files, whose paths are relative to its `src`.
pub(crate) fn judge(
    check: Check,
    files: &[(&str, &str)],
) -> Result<Verdict, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    for (path, text) in files {
        let path = dir.path().join("house/src").join(path);
        fs::create_dir_all(path.parent().unwrap_or(&path))?;
        fs::write(path, text)?;
    }
    Ok(check.run(&workspace(dir.path()))?)
}

/// Returns a workspace whose only member is the library `house`.
pub(crate) fn workspace(root: &Path) -> Workspace {
    let dir = root.join("house");
    Workspace {
        root: root.to_owned(),
        members: vec![Member {
            name: "house".to_owned(),
            lib_target: Some(Library {
                name: "house".to_owned(),
                root: dir.join("src/lib.rs"),
            }),
            dir,
            publishable: true,
            feature_sets: vec![String::new(), "redis".to_owned()],
        }],
    }
}

/// Returns the faults of the cycle check for a library with these files.
pub(crate) fn circles(files: &[(&str, &str)]) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    Ok(judge(Check::Circles, files)?.faults)
}

/// A module that uses another module, `engine`.
pub(crate) const GUARD: (&str, &str) = (
    "guard.rs",
    "use crate::engine::Held;\npub struct Guard(Held);\n",
);

/// Returns the cycle of `guard`, which uses `engine`, with this engine.
pub(crate) fn with_engine(engine: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    circles(&[
        ("lib.rs", "mod engine; mod guard;"),
        GUARD,
        ("engine.rs", engine),
    ])
}
