//! What the compiler says where something does not compile.
//!
//! What compiles is in `compiles`, and not a case here: with a single one that is to pass, trybuild would build all
//! dependencies in place of checking them.

#[test]
fn every_mistake_is_told() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/attribute/*.rs");
    cases.compile_fail("tests/ui/guard/*.rs");
    cases.compile_fail("tests/ui/layer/*.rs");
    cases.compile_fail("tests/ui/fenced/*.rs");
}
