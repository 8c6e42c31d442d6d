//! The checks of single files: sizes and leftovers.

use leasehold_testkit::lint::{Check, MEDIAN_LIMIT, SINGLE_LIMIT};

use crate::fake::{Outcome, judge};

/// Returns a file with `count` lines.
fn lines(count: usize) -> String {
    "//\n".repeat(count)
}

#[test]
fn says_the_median_and_the_largest() -> Outcome {
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
fn the_median_may_reach_the_limit_but_not_pass_it() -> Outcome {
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
fn each_file_may_reach_the_limit_but_not_pass_it() -> Outcome {
    let (good, bad) = (lines(SINGLE_LIMIT), lines(SINGLE_LIMIT + 1));
    let files = [("a.rs", "//"), ("b.rs", "//"), ("c.rs", good.as_str())];
    assert!(judge(Check::Sizes, &files)?.holds());
    let files = [("a.rs", "//"), ("b.rs", "//"), ("c.rs", bad.as_str())];
    let faults = judge(Check::Sizes, &files)?.faults;
    assert_eq!(faults, ["house/src/c.rs has 451 lines, above 450"]);
    Ok(())
}

#[test]
fn no_source_at_all_is_a_fault() -> Outcome {
    assert_eq!(
        judge(Check::Sizes, &[])?.faults,
        ["there is no source file"]
    );
    Ok(())
}

#[test]
fn finds_leftovers() -> Outcome {
    let text = "fn f() {\n    todo!()\n}\nfn g() {\n    print!(\"{}\", std::dbg!(1));\n}\n\
                #[cfg(test)]\nmod tests { fn h() { unimplemented! { } } }";
    let verdict = judge(Check::Leftovers, &[("lib.rs", text)])?;
    assert_eq!(
        verdict.faults,
        [
            "house/src/lib.rs:2: `todo!` is left",
            "house/src/lib.rs:5: `dbg!` is left",
            "house/src/lib.rs:8: `unimplemented!` is left",
        ]
    );
    Ok(())
}

#[test]
fn words_are_no_leftovers() -> Outcome {
    let text =
        "// todo!()\n/// dbg!(1)\nfn f(todo: u8) -> bool { todo != (1) && \"todo!()\" == \"\" }";
    let verdict = judge(Check::Leftovers, &[("lib.rs", text)])?;
    assert_eq!(verdict.faults, [""; 0]);
    assert_eq!(verdict.notes, ["1 files read"]);
    Ok(())
}

#[test]
fn finds_metaphors_in_names_of_modules_types_and_functions() -> Outcome {
    let text =
        "struct Indoor;\nmod doors {\n    struct WaitersInbox;\n}\nfn seat_of() { let door = 1; }";
    let verdict = judge(Check::Names, &[("lib.rs", text), ("porch.rs", "")])?;
    assert_eq!(
        verdict.faults,
        [
            "house/src/lib.rs:2: `doors` has the metaphor `door`",
            "house/src/lib.rs:3: `WaitersInbox` has the metaphor `inbox`",
            "house/src/lib.rs:5: `seat_of` has the metaphor `seat`",
            "house/src/porch.rs:1: `porch` has the metaphor `porch`",
        ]
    );
    Ok(())
}
