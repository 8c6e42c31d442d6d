//! `leader`: one leads, is killed, and the next takes over.

use crate::programs::{assert_says, said};

#[test]
fn a_killed_leader_is_followed_within_its_lease_and_an_orderly_one_at_once() {
    // The program checks the times itself, and ends badly if they are not kept.
    let text = said(env!("CARGO_BIN_EXE_leader"), &[]);
    let of_leaders = text
        .lines()
        .filter_map(|line| line.split_once(" leads, token "));
    let (who, tokens): (Vec<_>, Vec<i64>) = of_leaders
        .map(|(line, token)| (&line[line.len() - 1..], token.parse::<i64>().unwrap()))
        .unzip();
    assert_eq!(who.len(), 3, "{text}");
    assert!(
        who[0] != who[1] && who[1] != who[2] && who[0] != who[2],
        "{text}"
    );
    assert!(tokens.is_sorted_by(|a, b| a < b), "{text}");
    assert_says(&text, "is killed");
    assert_says(&text, "is at its job");
    assert_says(&text, ", 0 of them twice.");
    // Ten are due; if the killed one was at a report, those of the next two seconds are skipped.
    assert!(text.matches(" reported ").count() >= 3, "{text}");
}
