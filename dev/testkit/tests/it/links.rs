//! Links between Markdown files.

use leasehold_testkit::lint::Check;

use crate::fake::{Outcome, judge};

#[test]
fn links_to_files_and_headings_that_exist_are_accepted() -> Outcome {
    let files = [
        ("lib.rs", ""),
        (
            "../../README.md",
            "# House\n[a](docs/guide/one.md#the-first) [b](docs/a.svg) [c](house/src) [d](#house)\n",
        ),
        (
            "../../docs/guide/one.md",
            "# The first\n[up](../../README.md#house) [far](https://example.org/gone.md)\n",
        ),
        ("../../docs/a.svg", "<svg/>"),
        ("../README.md", "[code](src/lib.rs)"),
    ];
    let verdict = judge(Check::Links, &files)?;
    assert_eq!(verdict.faults, [""; 0]);
    assert_eq!(verdict.notes, ["3 files read, 6 relative links"]);
    Ok(())
}

#[test]
fn links_to_what_does_not_exist_are_faults_with_their_line() -> Outcome {
    let files = [
        ("lib.rs", ""),
        (
            "../../README.md",
            "# House\n\n[a](docs/gone.md)\n[b](docs/one.md#gone)\n",
        ),
        ("../../docs/one.md", "# One\n\n[c](#two)\n"),
    ];
    assert_eq!(
        judge(Check::Links, &files)?.faults,
        [
            "README.md:3: docs/gone.md: there is no such file",
            "README.md:4: docs/one.md#gone: there is no such heading",
            "docs/one.md:3: #two: there is no such heading",
        ]
    );
    Ok(())
}

#[test]
fn a_workspace_without_markdown_is_a_fault() -> Outcome {
    let faults = judge(Check::Links, &[("lib.rs", "")])?.faults;
    assert_eq!(faults, ["there is no Markdown file"]);
    Ok(())
}
