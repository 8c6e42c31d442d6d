//! `pause`: the late write is refused with a fence, and money is lost without one.

use std::fs;

use crate::scenes::programs::{assert_says, said};

const PAUSE: &str = env!("CARGO_BIN_EXE_pause");

/// Returns the time of the first line that contains `what`.
fn when(text: &str, what: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(what));
    let line = line.unwrap_or_else(|| panic!("no {what:?} in:\n{text}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn late_write_with_a_fence_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("pause.svg");
    let text = said(PAUSE, &["--draw", picture.to_str().unwrap()]);
    assert_says(&text, "is refused: ");
    assert_says(&text, "Lost with the fenced pool: 0.");
    assert_says(&text, "The account had 100, got 10 and 50, and has 150.");
    // Client 1 saw its lock valid, was stopped for longer than its lease, and wrote after client 2.
    let steps = [
        "sees that its lock is valid",
        "is stopped",
        "writes 150",
        "wakes up",
        "is refused",
    ];
    let times = steps.map(|step| when(&text, step));
    assert!(times.is_sorted(), "{text}");
    assert!(times[3] - times[1] > 1.0, "the lease is 1 s: {text}");
    let svg = fs::read_to_string(picture).unwrap();
    // The text of a time is there only if there is enough room for it.
    for said in ["its write is refused", "writes 150"] {
        assert_says(&svg, said);
    }
}

#[test]
fn late_write_without_a_fence_overwrites_another_deposit() {
    let text = said(PAUSE, &["--unfenced"]);
    assert_says(&text, "The account had 100, got 10 and 50, and has 110.");
    assert_says(&text, "Lost with the plain pool: 50.");
    assert_says(&text, "The 50 of client 2 are lost without an error.");
}
