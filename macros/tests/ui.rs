//! What compiles, and what the compiler says where it does not.

#[test]
fn every_form_compiles_and_every_mistake_is_told() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
