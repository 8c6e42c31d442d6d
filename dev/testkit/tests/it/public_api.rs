//! Crates in the API of another crate.

use std::fs;

use leasehold_testkit::lint::Check;

use crate::fake::{self, Outcome};

/// Returns the faults of a library that depends on `other`, `some-driver` and, on Unix, `os`, and whose manifest lists
/// `said`.
fn faults(said: &str, source: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let folder = dir.path().join("house/src");
    fs::create_dir_all(&folder)?;
    let manifest = format!(
        "[dependencies]\nother = \"1\"\nsome-driver = \"1\"\n[target.'cfg(unix)'.dependencies]\nos = \"1\"\n\
         [dev-dependencies]\nfor_tests = \"1\"\n[package.metadata.public-dependencies]\n{said}\n"
    );
    fs::write(dir.path().join("house/Cargo.toml"), manifest)?;
    fs::write(folder.join("lib.rs"), source)?;
    Ok(Check::Api.run(&fake::workspace(dir.path()))?.faults)
}

#[test]
fn undeclared_foreign_type_in_the_public_api_is_a_fault() -> Outcome {
    let sources = [
        "pub fn f(_: other::Thing) {}",
        "pub fn f() -> Vec<other::Thing> { todo() }",
        "use other::Thing; pub struct S { pub field: Option<Thing> }",
        "use other::{Thing as It}; pub enum E { One(It) }",
        "use other::Trait; pub fn f<T: Trait>(_: T) {}",
        "pub use other::Thing;",
        "pub struct S; impl other::Trait for S {}",
        "pub struct S; impl Iterator for S { type Item = other::Thing; }",
        "pub struct S; impl S { pub fn f(&self) -> impl other::Trait {} }",
        "pub trait T: other::Trait {}",
        "pub trait T { fn f(&self, it: other::Thing); }",
        "pub type A = other::Thing;",
        "pin_project! { pub struct S { field: u8 } } impl other::Trait for S {}",
        "mod inner { pub fn f(_: other::Thing) {} }",
        "pub struct S; impl From<S> for other::Thing {}",
    ];
    for source in sources {
        let expected =
            "house/src/lib.rs:1: house shows other, which its public-dependencies do not name";
        assert_eq!(faults("", source)?, [expected], "{source}");
        assert_eq!(faults("other = \"a reason\"", source)?, [""; 0], "{source}");
    }
    let source = "pub fn f(_: some_driver::Thing, _: os::Thing) {}";
    assert_eq!(
        faults("some-driver = \"so\"\nos = \"so\"", source)?,
        [""; 0]
    );
    assert_eq!(faults("", source)?.len(), 2);
    Ok(())
}

#[test]
fn foreign_type_in_private_code_is_not_a_fault() -> Outcome {
    let sources = [
        "pub(crate) fn f(_: other::Thing) {}",
        "use other::Thing; pub fn f() { Thing::new(); }",
        "pub struct S { field: other::Thing }",
        "struct S; impl other::Trait for S {}",
        "pub struct S; impl S { fn f(&self) -> other::Thing {} }",
        "#[cfg(test)] mod tests { pub fn f(_: other::Thing) {} }",
        "pub fn f(_: std::time::Duration, _: house::Thing, _: for_tests::Thing) {}",
        "#[other::attribute] pub struct S;",
        "struct S; impl From<S> for other::Thing {}",
    ];
    for source in sources {
        assert_eq!(faults("", source)?, [""; 0], "{source}");
    }
    let unshown = faults("other = \"a reason\"", sources[0])?;
    assert_eq!(unshown, ["house names other, and does not show it"]);
    Ok(())
}
