//! Guarantees with the tests that they name.

use leasehold_testkit::lint::Check;

use crate::fake::{Outcome, judge};

/// Returns the faults of a list of guarantees, in a crate that has some tests.
fn faults(chapter: &str) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let suite = "macro_rules! cases { () => { cases! { tokens_grow } } }";
    let files = [
        ("guarantees.rs", chapter),
        (
            "lease.rs",
            "mod tests { #[test] fn ends() {} fn helps() {} }",
        ),
        (
            "conformance/contract.rs",
            "pub async fn tokens_grow() {} pub async fn forgotten() {}",
        ),
        ("conformance/macros.rs", suite),
        ("conformance/mod.rs", "mod contract;"),
        ("../tests/one.rs", "#[tokio::test] async fn alone() {}"),
        ("../tests/it/main.rs", "mod room; #[test] fn inside() {}"),
        (
            "../tests/it/room.rs",
            "worlds! { early_expiry \"early-expiry\" }",
        ),
    ];
    Ok(judge(Check::Guarantees, &files)?.faults)
}

#[test]
fn named_tests_are_found_in_each_location() -> Outcome {
    for name in [
        "house::one::alone",
        "house::it::inside",
        "house::it::room::early_expiry",
        "house::lease::tests::ends",
        "house::conformance::contract::tokens_grow",
    ] {
        let chapter = format!("//! # Part\n//!\n//! - A promise. `Type`,\n//!   `{name}`\n");
        assert_eq!(faults(&chapter)?, [""; 0], "{name}");
    }
    Ok(())
}

#[test]
fn name_without_a_test_is_a_fault_with_its_line() -> Outcome {
    let cases = [
        (
            "house::one::gone",
            "there is no such test in house/tests/one.rs",
        ),
        ("house::two::alone", "there is no such file"),
        (
            "house::lease::tests::helps",
            "there is no such test in house/src/lease.rs",
        ),
        (
            "house::conformance::contract::forgotten",
            "there is no such test in house/src/conformance/contract.rs",
        ),
    ];
    for (name, why) in cases {
        let chapter =
            format!("//! Text.\n//!\n//! - A promise. `house::one::alone`,\n//!   `{name}`\n");
        let expected = format!("house/src/guarantees.rs:3: {name}: {why}");
        assert_eq!(faults(&chapter)?, [expected]);
    }
    Ok(())
}

#[test]
fn guarantee_without_a_test_is_a_fault() -> Outcome {
    let chapter = "//! - One. `house::one::alone`\n//! - Two. `Lost`\n//!\n//! Text. `house::nothing::here`\n";
    assert_eq!(
        faults(chapter)?,
        ["house/src/guarantees.rs:2: names no test"]
    );
    assert_eq!(faults("//! Text.\n")?, ["src/guarantees.rs has no point"]);
    let without = judge(Check::Guarantees, &[("lib.rs", "")])?.faults;
    assert_eq!(without, ["no member has a src/guarantees.rs"]);
    Ok(())
}
