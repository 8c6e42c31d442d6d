//! What compiles, and what the compiler says where it does not.

#[test]
fn every_form_compiles_and_every_mistake_is_told() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/attribute/pass/*.rs");
    cases.compile_fail("tests/ui/attribute/fail/*.rs");
    cases.compile_fail("tests/ui/guard/*.rs");
}
