//! Tests the parser of `cargo metadata`.

use std::path::Path;

use leasehold_testkit::workspace::Workspace;

use crate::fake::Outcome;

const METADATA: &str = r#"{
  "workspace_root": "/house",
  "packages": [
    { "name": "leasehold", "manifest_path": "/house/core/Cargo.toml", "publish": null,
      "features": { "redis": [], "default": ["redis"] },
      "targets": [
        { "kind": ["test"], "name": "it", "src_path": "/house/core/tests/it.rs" },
        { "kind": ["lib"], "name": "lease-hold", "src_path": "/house/core/src/lib.rs" } ] },
    { "name": "dev", "manifest_path": "/house/dev/Cargo.toml", "publish": [], "features": {},
      "targets": [{ "kind": ["bin"], "name": "dev", "src_path": "/house/dev/src/main.rs" }] }
  ] }"#;

#[test]
fn reads_members() -> Outcome {
    let workspace = Workspace::parse(METADATA)?;
    assert_eq!(workspace.root, Path::new("/house"));
    let [core, dev] = workspace.members.as_slice() else {
        return Err("there are two members".into());
    };
    assert_eq!((core.name.as_str(), core.publishable), ("leasehold", true));
    assert_eq!(core.features, ["default", "redis"]);
    assert_eq!(core.dir, Path::new("/house/core"));
    let library = core.lib_target.as_ref().ok_or("it has a library")?;
    assert_eq!(library.name, "lease_hold");
    assert_eq!(workspace.shown(&library.root), "core/src/lib.rs");
    assert!(!dev.publishable);
    assert!(dev.lib_target.is_none());
    Ok(())
}

#[test]
fn says_what_is_missing() {
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
fn asks_cargo_itself() -> Outcome {
    let workspace = Workspace::read()?;
    let ours = workspace
        .members
        .iter()
        .find(|it| it.name == env!("CARGO_PKG_NAME"));
    assert!(ours.is_some_and(|it| !it.publishable && it.lib_target.is_some()));
    Ok(())
}
