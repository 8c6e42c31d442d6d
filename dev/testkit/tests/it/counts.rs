//! Tests the parser of `cargo test` results.

use leasehold_testkit::suite::Counts;

#[test]
fn result_line_is_parsed() {
    let line = "test result: FAILED. 12 passed; 3 failed; 4 ignored; 0 measured; 7 filtered out; finished in 0.52s";
    let counts = Counts {
        passed: 12,
        failed: 3,
        ignored: 4,
    };
    assert_eq!(Counts::of_line(line), Some(counts));
    assert_eq!(counts.total(), 19);
}

#[test]
fn coloured_result_line_is_parsed() {
    let line = "test result: \u{1b}[32mok\u{1b}(B\u{1b}[m. \u{1b}[1;31m1\u{1b}[0m passed; 0 failed; 0 ignored";
    assert_eq!(Counts::of_line(line).map(|it| it.passed), Some(1));
}

#[test]
fn other_lines_are_not_results() {
    for line in [
        "",
        "running 3 tests",
        "test a::b ... ok",
        "the test result: ok. 1 passed",
        "test result: ",
    ] {
        assert_eq!(Counts::of_line(line), None, "{line:?}");
    }
}

#[test]
fn name_of_a_failed_test_is_parsed() {
    let names = [
        ("test a::b ... FAILED", Some("a::b")),
        (
            "test src/lib.rs - f (line 3) ... \u{1b}[31mFAILED\u{1b}[0m",
            Some("src/lib.rs - f (line 3)"),
        ),
        ("test a::b ... ok", None),
        ("test result: FAILED. 1 passed; 1 failed", None),
        ("a ... FAILED", None),
    ];
    for (line, name) in names {
        assert_eq!(Counts::failed_test(line).as_deref(), name, "{line:?}");
    }
}

#[test]
fn results_of_all_binaries_are_summed() {
    let output = "\
     Running unittests src/lib.rs (target/debug/deps/leasehold-1)

running 2 tests
test a ... ok
test b ... FAILED

test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s

   Doc-tests leasehold

test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 1.20s
";
    let counts = Counts {
        passed: 6,
        failed: 1,
        ignored: 1,
    };
    assert_eq!(Counts::of_lines(output.lines()), counts);
}
