//! The compiler's messages for code that does not compile.
//!
//! Code that compiles is in `compiles`. If one case here had to compile, trybuild would build all dependencies instead
//! of only checking them.

#[test]
fn each_invalid_use_has_the_expected_compile_error() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/attribute/*.rs");
    cases.compile_fail("tests/ui/chaos/*.rs");
    cases.compile_fail("tests/ui/guard/*.rs");
    cases.compile_fail("tests/ui/layer/*.rs");
    cases.compile_fail("tests/ui/redis/*.rs");
    cases.compile_fail("tests/ui/fenced/*.rs");
    cases.compile_fail("tests/ui/fenced_pool/*.rs");
}
