//! Tests how the dependencies of a module are found, in each form of a path.

use crate::fake::{GUARD, Outcome, circles, with_engine};

#[test]
fn dependency_is_found_in_each_form_of_path() -> Outcome {
    let uses = [
        "use crate::{guard::Guard, nothing};",
        "use super::guard::Guard;",
        "use self::super::guard as other;",
        "use crate::guard;",
        "use ::house::guard as other; fn f(_: house::guard::Guard) {}",
        "fn f(_: ::house::guard::Guard) {}",
        "use crate as root; fn f(_: root::guard::Guard) {}",
        "pub use crate::guard::Guard;",
        "fn f(_: crate::guard::Guard) {}",
        "fn f() { use crate::guard::Guard; }",
        "fn f() { crate::guard::make::<u8>(); }",
        "fn f() { make::<crate::guard::Guard>(); }",
        "impl crate::guard::Trait for Held {}",
        "mod inner { fn f(_: super::super::guard::Guard) {} }",
        "fn f() { tokio::select! { it = crate::guard::make() => {} } }",
        "fn f() { print!(\"{}\", super::guard::make()); }",
        "macro_rules! m { () => { $crate::guard::make() } }",
        "cfg_redis! { use crate::{nothing, guard::{self, Guard}}; }",
        "#[derive(crate::guard::Trait)] struct S;",
        "#[cfg(any(test, feature = \"test-util\"))] use crate::guard::Guard;",
        "#[cfg(not(test))] use crate::guard::Guard;",
    ];
    for line in uses {
        let faults = with_engine(&format!("pub struct Held;\n{line}"))?;
        assert_eq!(faults.len(), 3, "`{line}` makes a circle: {faults:?}");
    }
    Ok(())
}

#[test]
fn paths_in_tests_and_comments_are_ignored() -> Outcome {
    let uses = [
        "#[cfg(test)] mod tests { use crate::guard::Guard; }",
        "mod tests { #![cfg(test)] use crate::guard::Guard; }",
        "#[cfg(test)] use crate::guard::Guard;",
        "#[cfg(all(test, feature = \"redis\"))] use crate::guard::Guard;",
        "#[cfg(any(test, all(test, unix)))] use crate::guard::Guard;",
        "#[test] fn f() { crate::guard::make(); }",
        "#[tokio::test] async fn f() { crate::guard::make(); }",
        "impl Held { #[cfg(test)] fn f(_: crate::guard::Guard) {} }",
        "struct S { #[cfg(test)] guard: crate::guard::Guard }",
        "fn f() { #[cfg(test)] let it = crate::guard::make(); }",
        "#[cfg(test)] cfg_redis! { use crate::guard::Guard; }",
        "// crate::guard::Guard\nconst S: &str = \"crate::guard::Guard\";",
        "/// [`crate::guard::Guard`]\npub(in crate::engine) struct S;",
    ];
    for line in uses {
        let faults = with_engine(&format!("pub struct Held;\n{line}"))?;
        assert_eq!(faults, [""; 0], "`{line}` makes no circle");
    }
    let file = "use crate::guard::Guard;";
    let file_in_tests = format!("#![cfg(test)] {file}");
    let cases = [
        ("#[cfg(test)] mod tests;", file, true),
        ("mod tests;", file_in_tests.as_str(), true),
        ("mod tests;", file, false),
    ];
    for (declared, file, free) in cases {
        let faults = circles(&[
            ("lib.rs", "mod engine; mod guard;"),
            GUARD,
            ("engine.rs", &format!("pub struct Held; {declared}")),
            ("engine/tests.rs", file),
        ])?;
        assert_eq!(faults.is_empty(), free, "{declared} {file}");
    }
    Ok(())
}

#[test]
fn re_exports_of_the_crate_root_are_followed() -> Outcome {
    let roots = [
        "mod engine; mod guard; pub use guard::Guard;",
        "mod engine; mod guard; pub(crate) use crate::guard::Guard;",
        "mod engine; mod guard; use self::guard::{Guard};",
        "mod engine; mod guard; pub use guard::Other as Guard;",
        "mod engine; mod guard; pub use guard::*;",
        "mod engine; mod guard; pub mod prelude { pub use crate::guard::*; } pub use prelude::*;",
    ];
    for root in roots {
        let faults = circles(&[
            ("lib.rs", root),
            GUARD,
            ("engine.rs", "pub struct Held; fn f(_: crate::Guard) {}"),
        ])?;
        assert_eq!(faults.len(), 3, "`{root}`: {faults:?}");
    }
    Ok(())
}

#[test]
fn exported_macros_are_followed() -> Outcome {
    let faults = circles(&[
        ("lib.rs", "mod engine; mod guard;"),
        (
            "guard.rs",
            "#[macro_export] macro_rules! hold { () => { $crate::engine::Held } }",
        ),
        ("engine.rs", "pub struct Held; fn f() { crate::hold!(); }"),
    ])?;
    assert_eq!(faults[0], "house: circle engine -> guard -> engine");
    Ok(())
}
