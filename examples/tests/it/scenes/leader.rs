//! `leader`: a leader is killed, and the next one leads.

use crate::scenes::programs::{assert_says, said};

#[test]
fn next_candidate_leads_after_a_kill_and_after_a_normal_stop() {
    // The program checks the times itself, and fails if they are exceeded.
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
    assert_says(&text, "runs its job");
    assert_says(&text, ", 0 of them twice.");
    // At least four reports are due in three terms of 1.2 s and a lease of 2 s. The last one may be running.
    assert!(text.matches(" reported ").count() >= 3, "{text}");
}
