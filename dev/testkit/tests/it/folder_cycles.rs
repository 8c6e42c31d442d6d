//! Cycles between the files of a folder.

use crate::fake::{Outcome, circles};

/// Returns the faults of a folder `engine` with `held` and `renew`.
fn engine(root: &str, held: &str, renew: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    circles(&[
        ("lib.rs", "mod engine;"),
        ("engine/mod.rs", root),
        ("engine/held.rs", held),
        ("engine/renew.rs", renew),
    ])
}

#[test]
fn sibling_modules_that_use_each_other_are_a_cycle() -> Outcome {
    let paths = [
        "use super::held::Held;",
        "use crate::engine::held::Held;",
        "use super::Held;",
        "use crate::engine::Held;",
        "use crate::engine::Other;",
        "mod inner { use super::super::held::Held; }",
        "use super::held; fn f(_: held::Held) {}",
        "use crate::engine; fn f(_: engine::held::Held) {}",
        "use crate::engine::{self}; fn f(_: engine::held::Held) {}",
    ];
    let root = "mod held; mod renew; pub use held::Held; use held::Held as Other;";
    for path in paths {
        let renew = format!("pub fn start() {{}} {path}");
        let faults = engine(
            root,
            "pub struct Held; fn f() { super::renew::start(); }",
            &renew,
        )?;
        let circle = "house: circle engine::held -> engine::renew -> engine::held";
        assert_eq!(faults.first().map(String::as_str), Some(circle), "`{path}`");
    }
    Ok(())
}

#[test]
fn mod_file_may_declare_and_re_export_its_children() -> Outcome {
    let child = "use super::Shared; pub struct Held; pub struct Other;";
    let roots = [
        "mod held; mod renew; pub use held::Held; pub struct Shared;",
        "mod held; mod renew; pub(crate) use self::held::{Held, Other}; pub struct Shared;",
        "mod held; mod renew; pub use held::*; pub struct Shared;",
    ];
    for root in roots {
        assert_eq!(
            engine(root, child, "use super::Held;")?,
            [""; 0],
            "`{root}`"
        );
    }
    Ok(())
}

#[test]
fn mod_file_that_uses_a_child_that_needs_it_is_a_cycle() -> Outcome {
    let roots = [
        "mod held; mod renew; pub struct Shared(held::Held);",
        "mod held; mod renew; pub struct Shared; use held::Held;",
        "mod held; mod renew; pub struct Shared; pub use held::Held; fn f(_: Held) { held::f() }",
    ];
    for root in roots {
        for child in [
            "use super::Shared;",
            "use super::*;",
            "use crate::engine::Shared;",
        ] {
            let faults = engine(root, &format!("{child} pub struct Held;"), "")?;
            assert_eq!(faults.len(), 3, "`{root}` with `{child}`: {faults:?}");
            assert_eq!(faults[0], "house: circle engine -> engine::held -> engine");
        }
    }
    Ok(())
}

#[test]
fn mod_file_may_use_a_child_that_does_not_need_it() -> Outcome {
    let root = "mod held; mod renew; pub struct Shared(held::Held); pub use renew::start;";
    let faults = engine(
        root,
        "pub struct Held;",
        "use super::held::Held; pub fn start() {}",
    )?;
    assert_eq!(faults, [""; 0]);
    Ok(())
}

#[test]
fn path_through_the_parent_is_not_a_dependency_on_it() -> Outcome {
    let root = "mod held; mod renew; pub struct Shared(held::Held);";
    let uses = [
        "use crate::engine;",
        "use crate::engine::{self, renew};",
        "use super::renew; pub(in crate::engine) fn f() { renew::start() }",
    ];
    for line in uses {
        let held = format!("pub struct Held; {line}");
        assert_eq!(engine(root, &held, "pub fn start() {}")?, [""; 0], "{line}");
    }
    Ok(())
}

#[test]
fn modules_within_one_file_count_as_one_module() -> Outcome {
    let held = "mod private { use super::Held; pub trait Sealed {} }
        pub struct Held; impl private::Sealed for Held {}";
    assert_eq!(engine("mod held; mod renew;", held, "")?, [""; 0]);
    Ok(())
}

#[test]
fn cycles_in_nested_folders_are_found() -> Outcome {
    let faults = circles(&[
        ("lib.rs", "mod backend;"),
        ("backend.rs", "pub mod redis; pub mod memory;"),
        (
            "backend/memory.rs",
            "pub struct Memory; use super::redis::script::Script;",
        ),
        ("backend/redis/mod.rs", "pub mod node; pub mod script;"),
        (
            "backend/redis/node.rs",
            "use super::script::Script; pub struct Node;",
        ),
        (
            "backend/redis/script.rs",
            "use super::node::Node; use super::super::memory::Memory;",
        ),
    ])?;
    let circles: Vec<&String> = faults.iter().filter(|it| it.contains("circle")).collect();
    assert_eq!(
        circles,
        [
            "house: circle backend::memory -> backend::redis -> backend::memory",
            "house: circle backend::redis::node -> backend::redis::script -> backend::redis::node",
        ]
    );
    Ok(())
}
