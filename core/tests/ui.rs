//! What the compiler says to those who hold a guard wrongly.

#[test]
fn the_compiler_catches_misuse() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
