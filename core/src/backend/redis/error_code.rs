//! Recognises a server's error codes.

use redis::RedisError;

/// Where a script stood, as servers before 7.0 write it.
const PLACE: &str = "@user_script:";

/// The code of an error; of one that a script met, the one that it met.
///
/// Before 7.0 a server says first that a script failed, and where, and only then why.
pub(super) fn code(error: &RedisError) -> Option<&str> {
    let said = error.code()?;
    let detail = error.detail().unwrap_or_default();
    let reason = match said {
        "ERR" => detail.rsplit_once(PLACE).map(|(_, reason)| reason),
        _ if said == PLACE => Some(detail),
        _ => None,
    };
    reason.and_then(first_code).or(Some(said))
}

/// Whether a server refused a write, for it is a replica.
pub(crate) fn is_readonly(error: &RedisError) -> bool {
    code(error) == Some("READONLY")
}

/// The code after the number of a line.
fn first_code(reason: &str) -> Option<&str> {
    let reason = reason.trim_start_matches(|c: char| c.is_ascii_digit() || " :".contains(c));
    let word = reason.trim_start_matches('-').split(' ').next()?;
    let is_code = !word.is_empty() && word.bytes().all(|it| it.is_ascii_uppercase());
    is_code.then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(line: &str) -> String {
        let said = redis::parse_redis_value(format!("-{line}\r\n").as_bytes()).unwrap();
        let error = said.extract_error().unwrap_err();
        code(&error).unwrap().to_owned()
    }

    #[test]
    fn a_script_that_met_an_error_says_which() {
        for (line, expected) in [
            // 6.2.14
            (
                "ERR Error running script (call to f_0d0fafb3): @user_script:10: WRONGTYPE Operation against a key",
                "WRONGTYPE",
            ),
            (
                "ERR Error running script (call to f_398b0733): @user_script:27: @user_script: 27: -OOM command not allowed",
                "OOM",
            ),
            (
                "@user_script: 15: -READONLY You can't write against a read only replica.",
                "READONLY",
            ),
            (
                "ERR Error running script (call to f_398b0733): @user_script:3: attempt to compare nil with number",
                "ERR",
            ),
            // 7.0.15
            (
                "WRONGTYPE Operation against a key holding the wrong kind of value script: f_0d0fafb3, on @user_script:10.",
                "WRONGTYPE",
            ),
            (
                "ERR user_script:1: attempt to compare nil with number script: f_0d0fafb3, on @user_script:1.",
                "ERR",
            ),
            ("NOSCRIPT No matching script.", "NOSCRIPT"),
        ] {
            assert_eq!(code_of(line), expected, "{line}");
        }
    }
}
