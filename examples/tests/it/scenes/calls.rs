//! Invalid arguments and missing servers cause an error with a remedy.

use std::process::Command;

use crate::scenes::programs::{assert_says, run};

const PROGRAMS: [&str; 3] = [
    env!("CARGO_BIN_EXE_market"),
    env!("CARGO_BIN_EXE_pause"),
    LEADER,
];

/// Starts no server.
const LEADER: &str = env!("CARGO_BIN_EXE_leader");

fn errors(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(program, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

#[test]
fn unknown_flag_is_named_and_usage_is_printed() {
    for program in PROGRAMS {
        let (code, text) = errors(program, &["--fast"]);
        assert_eq!(code, Some(2), "{text}");
        assert_says(&text, "--fast");
        assert_says(&text, "--url ");
    }
}

#[test]
fn invalid_value_is_named_with_the_valid_range() {
    for wrong in ["soon", "0", "-1", "NaN", "1e30"] {
        let (code, text) = errors(PROGRAMS[0], &["--seconds", wrong]);
        assert_eq!(code, Some(2), "{text}");
        assert_says(&text, wrong);
        assert_says(&text, "from 100ms to 3600s");
    }
}

#[test]
fn missing_redis_server_is_reported_with_the_remedy() {
    for program in PROGRAMS.into_iter().filter(|it| *it != LEADER) {
        let output = Command::new(program)
            .env("LEASEHOLD_REDIS_SERVER", "no-such-server")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_says(&text, "there is no `no-such-server`: install it");
        assert_says(&text, "--url redis://HOST");
    }
}

#[test]
fn unreachable_redis_is_reported_with_its_address() {
    for program in PROGRAMS {
        let (code, text) = errors(program, &["--url", "redis://127.0.0.1:1"]);
        assert_eq!(code, Some(1), "{text}");
        assert_says(&text, "connection refused at 127.0.0.1:");
    }
}
