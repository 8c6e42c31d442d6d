//! Tests the parser of the command line.

use leasehold_testkit::cli::Command;
use leasehold_testkit::explore::Options;

fn parse(line: &str) -> Result<Command, String> {
    let words = line.split_whitespace().map(ToOwned::to_owned);
    Command::parse(words).map_err(|error| error.to_string())
}

#[test]
fn valid_command_lines_are_parsed() {
    assert_eq!(parse(""), Ok(Command::Usage));
    assert_eq!(parse("--help"), Ok(Command::Usage));
    assert_eq!(parse("lint"), Ok(Command::Lint));
    assert_eq!(parse("servers"), Ok(Command::Servers));
    assert_eq!(parse("minimal-versions"), Ok(Command::MinimalVersions));
    assert_eq!(parse("test"), Ok(Command::Test { only: None }));
    let only = Some("docs".to_owned());
    assert_eq!(parse("test --only docs"), Ok(Command::Test { only }));
    assert_eq!(
        parse("explore --minutes 90 --only SQL"),
        Ok(Command::Explore(Options {
            minutes: Some(90),
            only: Some("SQL".to_owned()),
        }))
    );
    let only = Some("Valkey".to_owned());
    assert_eq!(
        parse("versions --only Valkey"),
        Ok(Command::Versions { only })
    );
    let command = vec!["/deps/it-1".to_owned(), "--quiet".to_owned()];
    assert_eq!(
        parse("note /deps/it-1 --quiet"),
        Ok(Command::Note { command })
    );
}

#[test]
fn invalid_command_lines_are_refused_with_the_usage() {
    for line in [
        "tset",
        "test --only",
        "test docs",
        "note",
        "house now",
        "test --only a b",
        "explore --minutes soon",
        "explore now",
        "versions --only",
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains("cargo xtask test --only NAME"), "{error}");
    }
}
