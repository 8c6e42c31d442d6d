//! Runs the example as a reader would, and reads what it says.

use std::process::Command;

/// The row of the table that starts with `name`: asked, sold, stock.
fn row(output: &str, name: &str) -> Vec<i64> {
    let mut lines = output.lines().filter(|line| !line.ends_with('…'));
    let Some(line) = lines.rfind(|line| line.starts_with(name)) else {
        return Vec::new();
    };
    let numbers = line[name.len()..].split_whitespace();
    numbers.map_while(|word| word.parse().ok()).collect()
}

#[test]
fn the_sale_oversells_without_a_lock_and_sells_ten_with_one() {
    let output = Command::new(env!("CARGO_BIN_EXE_quickstart"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}");
    let [asked, sold, stock] = row(&text, "without a lock")[..] else {
        panic!("{text}");
    };
    assert!(asked >= 20 && sold > 10 && stock == 10 - sold, "{text}");
    assert!(
        text.contains(&format!("oversold by {}", sold - 10)),
        "{text}"
    );
    let [asked, sold, stock] = row(&text, "with Leasehold")[..] else {
        panic!("{text}");
    };
    assert!(asked >= 20 && sold == 10 && stock == 0, "{text}");
}
