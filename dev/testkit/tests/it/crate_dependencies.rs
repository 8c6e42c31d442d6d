//! The check of the dependencies between the published crates.

use std::fs;

use leasehold_testkit::lint::Check;
use leasehold_testkit::workspace::{Library, Member, Workspace};

use crate::fake::Outcome;

/// Checks a workspace with the crates `leasehold-core` and `leasehold-redis`, and returns the faults. `leasehold-core` has this
/// manifest and this source.
fn faults(manifest: &str, source: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let member = |name: &str, manifest: &str, source: &str| {
        let dir = dir.path().join(name);
        fs::create_dir_all(dir.join("src"))?;
        fs::write(dir.join("Cargo.toml"), manifest)?;
        fs::write(dir.join("src/lib.rs"), source)?;
        Ok::<_, std::io::Error>(Member {
            name: name.to_owned(),
            lib_target: Some(Library {
                name: name.replace('-', "_"),
                root: dir.join("src/lib.rs"),
            }),
            dir,
            publishable: true,
            feature_sets: Vec::new(),
        })
    };
    let workspace = Workspace {
        root: dir.path().to_owned(),
        members: vec![
            member("leasehold-core", manifest, source)?,
            member(
                "leasehold-redis",
                "[dependencies]\nleasehold-core = \"1\"",
                "",
            )?,
        ],
    };
    Ok(Check::Dependencies.run(&workspace)?.faults)
}

#[test]
fn a_core_without_a_backend_passes() -> Outcome {
    let source = "//! See [`leasehold_redis::Redis`].\nuse std::fmt;\nfn f() { \"leasehold_redis::Redis\"; }";
    assert_eq!(faults("[dependencies]\nfastrand = \"2\"", source)?, [""; 0]);
    Ok(())
}

#[test]
fn a_dependency_of_the_core_on_a_backend_is_a_fault() -> Outcome {
    for manifest in [
        "[dependencies]\nleasehold-redis = \"1\"",
        "[target.'cfg(unix)'.dependencies]\nleasehold-redis = \"1\"",
    ] {
        let expected =
            "leasehold-core/Cargo.toml: `leasehold-core` must not depend on `leasehold_redis`";
        assert_eq!(faults(manifest, "")?, [expected]);
    }
    // The examples in the documentation need it.
    assert_eq!(
        faults("[dev-dependencies]\nleasehold-redis = \"1\"", "")?,
        [""; 0]
    );
    Ok(())
}

#[test]
fn an_import_of_a_backend_in_the_core_is_a_fault() -> Outcome {
    for source in [
        "use leasehold_redis::Redis;",
        "pub use ::leasehold_redis;",
        "pub use leasehold_redis as redis;",
        "fn f() -> Option<leasehold_redis::Redis> { None }",
        "mod tests { fn f() { leasehold_redis::connect(); } }",
    ] {
        let expected =
            "leasehold-core/src/lib.rs:1: `leasehold-core` must not import `leasehold_redis`";
        assert_eq!(faults("", source)?, [expected], "{source}");
    }
    Ok(())
}
