//! The check of file sizes.

use leasehold_testkit::lint::{Check, MEDIAN_LIMIT, SINGLE_LIMIT};

use crate::fake::{Outcome, judge};

/// Returns a file with `count` lines.
fn lines(count: usize) -> String {
    "//\n".repeat(count)
}

#[test]
fn file_sizes_report_the_median_and_the_largest_files() -> Outcome {
    let (a, b, c, d) = (lines(10), lines(20), lines(30), lines(40));
    let files = [
        ("a.rs", a.as_str()),
        ("b.rs", &b),
        ("x/c.rs", &c),
        ("x/y/d.rs", &d),
        ("e.rs", ""),
    ];
    let verdict = judge(Check::Sizes, &files)?;
    assert_eq!(
        verdict.notes,
        [
            "5 files, median 20 lines, largest house/src/x/y/d.rs (40), \
          house/src/x/c.rs (30), house/src/b.rs (20)"
        ]
    );
    assert!(verdict.holds());
    Ok(())
}

#[test]
fn median_file_size_above_the_limit_is_a_fault() -> Outcome {
    let (good, bad) = (lines(MEDIAN_LIMIT), lines(MEDIAN_LIMIT + 1));
    let files = [("a.rs", "//"), ("b.rs", good.as_str()), ("c.rs", &bad)];
    assert!(judge(Check::Sizes, &files)?.holds());
    let files = [("a.rs", "//"), ("b.rs", bad.as_str()), ("c.rs", &bad)];
    let verdict = judge(Check::Sizes, &files)?;
    assert_eq!(verdict.faults, ["the median file has 161 lines, above 160"]);
    assert!(!verdict.holds());
    Ok(())
}

#[test]
fn file_size_above_the_limit_is_a_fault() -> Outcome {
    let (good, bad) = (lines(SINGLE_LIMIT), lines(SINGLE_LIMIT + 1));
    let files = [("a.rs", "//"), ("b.rs", "//"), ("c.rs", good.as_str())];
    assert!(judge(Check::Sizes, &files)?.holds());
    let files = [("a.rs", "//"), ("b.rs", "//"), ("c.rs", bad.as_str())];
    let faults = judge(Check::Sizes, &files)?.faults;
    assert_eq!(faults, ["house/src/c.rs has 451 lines, above 450"]);
    Ok(())
}

#[test]
fn workspace_without_source_files_is_a_fault() -> Outcome {
    assert_eq!(
        judge(Check::Sizes, &[])?.faults,
        ["there is no source file"]
    );
    Ok(())
}
