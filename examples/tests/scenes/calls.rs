//! What is not as it should be on the command line is told, with a remedy, before anything begins.

use std::process::Command;

use crate::programs::{assert_says, run};

const PROGRAMS: [&str; 3] = [
    env!("CARGO_BIN_EXE_market"),
    env!("CARGO_BIN_EXE_pause"),
    env!("CARGO_BIN_EXE_leader"),
];

fn errors(program: &str, arguments: &[&str]) -> (Option<i32>, String) {
    let output = run(program, arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), text)
}

#[test]
fn an_unknown_flag_is_named_beside_those_there_are() {
    for program in PROGRAMS {
        let (code, text) = errors(program, &["--fast"]);
        assert_eq!(code, Some(2), "{text}");
        assert_says(&text, "--fast");
        assert_says(&text, "--url redis://HOST");
    }
}

#[test]
fn a_value_that_is_none_is_told_with_what_is_one() {
    for wrong in ["soon", "0", "-1", "NaN", "1e30"] {
        let (code, text) = errors(PROGRAMS[0], &["--seconds", wrong]);
        assert_eq!(code, Some(2), "{text}");
        assert_says(&text, wrong);
        assert_says(&text, "from 100ms to 3600s");
    }
}

#[test]
fn without_a_redis_one_is_told_where_to_get_it() {
    for program in PROGRAMS {
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
fn a_redis_that_is_not_there_is_an_error_of_its_own() {
    for program in PROGRAMS {
        let (code, text) = errors(program, &["--url", "redis://127.0.0.1:1"]);
        assert_eq!(code, Some(1), "{text}");
        assert_says(&text, "nobody listens at 127.0.0.1:");
    }
}
