//! Tests the parser of the command line.

use leasehold_testkit::cli::Command;

fn parse(line: &str) -> Result<Command, String> {
    let words = line.split_whitespace().map(ToOwned::to_owned);
    Command::parse(words).map_err(|error| error.to_string())
}

#[test]
fn reads_commands() {
    assert_eq!(parse(""), Ok(Command::Usage));
    assert_eq!(parse("--help"), Ok(Command::Usage));
    assert_eq!(parse("lint"), Ok(Command::Lint));
    assert_eq!(parse("minimal-versions"), Ok(Command::MinimalVersions));
    assert_eq!(parse("test"), Ok(Command::Test { only: None }));
    let only = Some("docs".to_owned());
    assert_eq!(parse("test --only docs"), Ok(Command::Test { only }));
    let command = vec!["/deps/it-1".to_owned(), "--quiet".to_owned()];
    assert_eq!(
        parse("note /deps/it-1 --quiet"),
        Ok(Command::Note { command })
    );
}

#[test]
fn refuses_the_rest() {
    for line in [
        "tset",
        "test --only",
        "test docs",
        "note",
        "house now",
        "test --only a b",
    ] {
        let error = parse(line).expect_err(line);
        assert!(error.contains("cargo xtask test --only NAME"), "{error}");
    }
}
