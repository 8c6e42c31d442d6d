//! Cycles among the modules of a crate.

use leasehold_testkit::lint::Check;

use crate::fake::{GUARD, Outcome, circles, judge, with_engine};

#[test]
fn fault_names_the_cycle_and_the_lines_that_cause_it() -> Outcome {
    let faults = with_engine("pub struct Held;\n\nuse crate::guard::Guard;\n")?;
    assert_eq!(
        faults,
        [
            "house: circle engine -> guard -> engine",
            "    engine -> guard: house/src/engine.rs:3",
            "    guard -> engine: house/src/guard.rs:1",
        ]
    );
    Ok(())
}

#[test]
fn dependency_in_one_direction_is_not_a_cycle() -> Outcome {
    assert_eq!(with_engine("pub struct Held;")?, [""; 0]);
    let files = [
        ("lib.rs", "mod engine; mod guard;"),
        GUARD,
        ("engine.rs", "pub struct Held;"),
    ];
    let notes = judge(Check::Circles, &files)?.notes;
    assert_eq!(notes, ["house: 3 modules, 1 arrows between neighbours"]);
    Ok(())
}

#[test]
fn dependency_on_the_crate_root_is_not_a_cycle() -> Outcome {
    let files = [
        (
            "lib.rs",
            "mod engine; pub use engine::Held; pub struct Root(engine::Held);",
        ),
        (
            "engine.rs",
            "pub struct Held; fn f(_: crate::Root, _: crate::Held, _: crate::Gone) {}",
        ),
        ("main.rs", "use crate::engine::Held;"),
        ("bin/other.rs", "use house::engine::Held;"),
    ];
    let verdict = judge(Check::Circles, &files)?;
    assert_eq!(verdict.faults, [""; 0]);
    let programs_aside = "house: 2 modules, 0 arrows between neighbours";
    assert_eq!(verdict.notes, [programs_aside]);
    Ok(())
}

#[test]
fn long_and_separate_cycles_are_all_found() -> Outcome {
    let faults = circles(&[
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; mod f;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "use crate::c::C; pub struct B;"),
        ("c.rs", "use crate::a::A; use crate::d::D; pub struct C;"),
        ("d.rs", "use crate::e::E; pub struct D;"),
        ("e.rs", "use crate::d::D; use crate::f::F; pub struct E;"),
        ("f.rs", "pub struct F;"),
    ])?;
    let circles: Vec<&String> = faults.iter().filter(|it| it.contains("circle")).collect();
    assert_eq!(
        circles,
        [
            "house: circle a -> b -> c -> a",
            "house: circle d -> e -> d"
        ]
    );
    Ok(())
}

#[test]
fn search_ends_despite_circular_re_exports() -> Outcome {
    let faults = circles(&[
        (
            "lib.rs",
            "pub use a::*; pub use b::*; mod a; mod b; use serde; use serde::Gone;",
        ),
        (
            "a.rs",
            "pub use crate::*; pub use crate::Gone; pub use crate::a::Ring::*;",
        ),
        (
            "b.rs",
            "pub use crate::Gone; pub use super::*; fn f(_: crate::a::Gone) {}",
        ),
    ])?;
    assert_eq!(faults, [""; 0]);
    Ok(())
}

#[test]
fn path_attribute_is_a_fault() -> Outcome {
    let faults = with_engine("pub struct Held;\n#[path = \"x.rs\"] mod other;")?;
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].starts_with("house/src/engine.rs:2: `#[path]`"),
        "{faults:?}"
    );
    Ok(())
}

#[test]
fn invalid_rust_source_is_an_error() {
    let error = with_engine("pub struct Held;\nfn fn").map_err(|it| it.to_string());
    let text = error.expect_err("not parsed");
    assert!(
        text.starts_with("house/src/engine.rs:2: not parsed"),
        "{text}"
    );
}
