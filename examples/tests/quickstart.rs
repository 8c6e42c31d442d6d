//! Runs the example as a reader would, and reads what it says.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::process::Command;

use leasehold_testkit::servers::RedisServer;

/// The row of the table that starts with `name`: asked, sold, stock.
fn row(output: &str, name: &str) -> Vec<i64> {
    let mut lines = output.lines().filter(|line| !line.ends_with('…'));
    let Some(line) = lines.rfind(|line| line.starts_with(name)) else {
        return Vec::new();
    };
    let numbers = line[name.len()..].split_whitespace();
    numbers.map_while(|word| word.parse().ok()).collect()
}

/// What the example says, after a check that it ended well.
fn said(arguments: &[&str]) -> String {
    let quickstart = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .args(arguments)
        .output();
    let output = quickstart.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}{errors}");
    text
}

fn assert_oversold_then_ten(text: &str) {
    let [asked, sold, stock] = row(text, "without a lock")[..] else {
        panic!("{text}");
    };
    assert!(asked >= 20 && sold > 10 && stock == 10 - sold, "{text}");
    assert!(
        text.contains(&format!("oversold by {}", sold - 10)),
        "{text}"
    );
    let [asked, sold, stock] = row(text, "with Leasehold")[..] else {
        panic!("{text}");
    };
    assert!(asked > 10 && sold == 10 && stock == 0, "{text}");
}

#[test]
fn the_sale_oversells_without_a_lock_and_sells_ten_with_one() {
    assert_oversold_then_ten(&said(&[]));
}

#[tokio::test]
async fn two_processes_that_share_a_lock_sell_ten_and_so_does_the_one_that_is_left() {
    let server = RedisServer::start().await.unwrap();
    assert_oversold_then_ten(&said(&["--url", &server.url()]));
    let text = said(&["--url", &server.url(), "--kill"]);
    assert!(text.contains("was killed"), "{text}");
    assert_oversold_then_ten(&text);
}

#[test]
fn what_it_does_not_know_it_answers_with_its_usage() {
    let quickstart = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .arg("--help")
        .output()
        .unwrap();
    assert!(!quickstart.status.success());
    assert!(String::from_utf8_lossy(&quickstart.stderr).contains("--url redis://HOST"));
}
