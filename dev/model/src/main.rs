//! The command line of the model: a table of all checks, or one counterexample as text.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line talks to the terminal"
)]

use std::process::ExitCode;

use leasehold_model::table::{self, Extent};
use leasehold_model::{Claim, Trace, Weakening, counterexample, quorum, setup, setups, weakened};

const USAGE: &str = "\
cargo run --release -p leasehold-model                  check everything, and print a table
cargo run --release -p leasehold-model -- --large       check the larger worlds of the quorum
cargo run --release -p leasehold-model -- --list        say what is checked
cargo run --release -p leasehold-model -- --show NAME   tell a rule's counterexample step by step";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => print_table(Extent::Usual),
        ["--large"] => print_table(Extent::Large),
        ["--list"] => list(),
        ["--show", name] => show(name),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn print_table(extent: Extent) -> ExitCode {
    println!("{}", table::heading());
    let rows = table::all(extent, |row| println!("{row}"));
    let wrong = rows.iter().filter(|row| !row.is_as_expected()).count();
    println!("{} as expected, {wrong} not", rows.len() - wrong);
    if wrong == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn list() -> ExitCode {
    println!("The protocol on one server as it is, in these worlds:");
    for it in setups() {
        line(it.name, it.about);
    }
    println!("\nThe protocol on one server without a rule:");
    for rule in Weakening::ALL {
        line(rule.name(), rule.says());
    }
    println!("\nThe quorum protocol as it is, in these worlds:");
    for it in quorum::setups() {
        line(it.name, it.about);
    }
    println!("\nand, with --large, in these:");
    for it in quorum::large_setups() {
        line(it.name, it.about);
    }
    println!("\nThe quorum protocol without a rule:");
    for rule in quorum::Weakening::ALL {
        line(rule.name(), rule.says());
    }
    ExitCode::SUCCESS
}

fn line(name: &str, says: &str) {
    println!("  {name:<26}{says}");
}

fn show(name: &str) -> ExitCode {
    if setup(name).is_some() || quorum::setup(name).is_some() {
        println!("`{name}` is a world of the whole protocol, in which all that is claimed holds.");
        return ExitCode::SUCCESS;
    }
    if let Some(rule) = Weakening::ALL.iter().find(|it| it.name() == name) {
        println!("{}: {}.", rule.name(), rule.says());
        return tell(rule.breaks(), |claim| {
            weakened(*rule).and_then(|it| counterexample(&it, claim))
        });
    }
    if let Some(rule) = quorum::Weakening::ALL.iter().find(|it| it.name() == name) {
        println!("{}: {}.", rule.name(), rule.says());
        return tell(rule.breaks(), |claim| {
            let mut setup = quorum::weakened(*rule)?;
            // A trace with changing names is hard to read.
            setup.anonymous = false;
            quorum::counterexample(&setup, claim)
        });
    }
    eprintln!("nothing is called `{name}`; --list has the names");
    ExitCode::from(2)
}

fn tell(claims: &[Claim], counterexample: impl Fn(Claim) -> Option<Trace>) -> ExitCode {
    for &claim in claims {
        let Some(trace) = counterexample(claim) else {
            println!("\n{} holds", claim.name());
            return ExitCode::FAILURE;
        };
        println!(
            "\n{} does not hold after {} steps:\n{trace}",
            claim.name(),
            trace.steps()
        );
    }
    ExitCode::SUCCESS
}
