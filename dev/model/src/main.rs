//! The command line of the model: a table of all that was checked, or one counterexample in words.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line talks to the terminal"
)]

use std::process::ExitCode;

use leasehold_model::{Weakening, counterexample, setup, table, weakened};

const USAGE: &str = "\
cargo run --release -p leasehold-model                  check everything, and print a table
cargo run --release -p leasehold-model -- --list        say what is checked
cargo run --release -p leasehold-model -- --show NAME   tell a rule's counterexample step by step";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => print_table(),
        ["--list"] => list(),
        ["--show", name] => show(name),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn print_table() -> ExitCode {
    println!("{}", table::heading());
    let rows = table::all(|row| println!("{row}"));
    let wrong = rows.iter().filter(|row| !row.is_as_expected()).count();
    println!("{} as expected, {wrong} not", rows.len() - wrong);
    if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn list() -> ExitCode {
    println!("The protocol as it is, in these worlds:");
    for setup in leasehold_model::setups() {
        println!("  {:<22}{}", setup.name, setup.about);
    }
    println!("\nThe protocol without a rule:");
    for rule in Weakening::ALL {
        println!("  {:<22}{}", rule.name(), rule.says());
    }
    ExitCode::SUCCESS
}

fn show(name: &str) -> ExitCode {
    if setup(name).is_some() {
        println!("`{name}` is a world of the whole protocol, in which all that is claimed holds.");
        return ExitCode::SUCCESS;
    }
    let Some(rule) = Weakening::ALL.iter().find(|it| it.name() == name) else {
        eprintln!("nothing is called `{name}`; --list has the names");
        return ExitCode::from(2);
    };
    println!("{}: {}.", rule.name(), rule.says());
    for &claim in rule.breaks() {
        let trace = weakened(*rule).and_then(|setup| counterexample(&setup, claim));
        match trace {
            Some(trace) => println!(
                "\n{} does not hold after {} steps:\n{trace}",
                claim.name(),
                trace.steps()
            ),
            None => {
                println!("\n{} holds", claim.name());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
