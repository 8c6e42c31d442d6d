//! Tests the parser of `cargo metadata`.

use std::path::Path;

use leasehold_testkit::workspace::Workspace;

use crate::fake::Outcome;

const METADATA: &str = r#"{
  "workspace_root": "/house",
  "packages": [
    { "name": "leasehold", "manifest_path": "/house/core/Cargo.toml", "publish": null,
      "metadata": { "feature-sets": ["", "redis,once"] },
      "targets": [
        { "kind": ["test"], "name": "it", "src_path": "/house/core/tests/it.rs" },
        { "kind": ["lib"], "name": "lease-hold", "src_path": "/house/core/src/lib.rs" } ] },
    { "name": "dev", "manifest_path": "/house/dev/Cargo.toml", "publish": [], "features": {},
      "targets": [{ "kind": ["bin"], "name": "dev", "src_path": "/house/dev/src/main.rs" }] }
  ] }"#;

#[test]
fn members_of_cargo_metadata_are_parsed() -> Outcome {
    let workspace = Workspace::parse(METADATA)?;
    assert_eq!(workspace.root, Path::new("/house"));
    let [core, dev] = workspace.members.as_slice() else {
        return Err("there are two members".into());
    };
    assert_eq!((core.name.as_str(), core.publishable), ("leasehold", true));
    assert_eq!(core.feature_sets, ["", "redis,once"]);
    assert!(dev.feature_sets.is_empty());
    assert_eq!(core.dir, Path::new("/house/core"));
    let library = core.lib_target.as_ref().ok_or("it has a library")?;
    assert_eq!(library.name, "lease_hold");
    assert_eq!(workspace.shown(&library.root), "core/src/lib.rs");
    assert!(!dev.publishable);
    assert!(dev.lib_target.is_none());
    Ok(())
}

#[test]
fn parse_error_names_the_missing_field() {
    for (json, what) in [
        ("{}", "packages"),
        (r#"{"packages": []}"#, "workspace_root"),
        ("no", "expected"),
    ] {
        let error = Workspace::parse(json).expect_err(json).to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn workspace_is_read_from_cargo() -> Outcome {
    let workspace = Workspace::read()?;
    let ours = workspace
        .members
        .iter()
        .find(|it| it.name == env!("CARGO_PKG_NAME"));
    assert!(ours.is_some_and(|it| !it.publishable && it.lib_target.is_some()));
    Ok(())
}
