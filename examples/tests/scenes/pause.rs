//! `pause`: the late write is refused, and where nothing refuses it money is lost.

use std::fs;

use crate::programs::{assert_says, said};

const PAUSE: &str = env!("CARGO_BIN_EXE_pause");

/// What stands in the lines that contain `what`, in order: when.
fn when(text: &str, what: &str) -> f64 {
    let line = text.lines().find(|line| line.contains(what));
    let line = line.unwrap_or_else(|| panic!("no {what:?} in:\n{text}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}

#[test]
fn a_late_write_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("pause.svg");
    let text = said(PAUSE, &["--draw", picture.to_str().unwrap()]);
    assert_says(&text, "is refused: ");
    assert_says(&text, "The account had 100, got 10 and 50, and has 150.");
    // It saw its lock valid, slept past its lease, and wrote when the other had written.
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
    for said in ["is still stopped", "its write is refused", "writes 150"] {
        assert_says(&svg, said);
    }
}

#[test]
fn without_a_fence_the_deposit_of_another_is_lost() {
    let text = said(PAUSE, &["--unfenced"]);
    assert_says(&text, "The account had 100, got 10 and 50, and has 110.");
    assert_says(&text, "The 50 of client 2 are lost, and nobody knows.");
}
