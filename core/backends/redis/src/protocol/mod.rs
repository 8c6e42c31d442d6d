//! Encodes requests to the scripts, and parses their replies.

pub(crate) mod acquire_command;
pub(crate) mod inspection;
pub(crate) mod release_command;
pub(crate) mod reply;
pub(crate) mod server_clock;
pub(crate) mod unanswered_requests;

use std::borrow::Cow;
use std::time::Duration;

use leasehold_core::backend::Mode;

/// Returns the text of a mode for the scripts.
pub(crate) fn written(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive => "x".into(),
        Mode::Shared => "s".into(),
        Mode::Permits { count, of } => format!("p{count}/{of}").into(),
    }
}

pub(crate) fn millis(duration: Duration) -> String {
    millis_of(duration).to_string()
}

pub(crate) fn millis_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(crate) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(crate) fn flag(set: bool) -> &'static str {
    if set { "1" } else { "0" }
}

/// Returns the keys of a script call.
#[cfg(test)]
pub(crate) fn keys_of(call: &redis::Cmd) -> Vec<String> {
    let mut words = call.args_iter().map(|word| match word {
        redis::Arg::Simple(word) => String::from_utf8_lossy(word).into_owned(),
        _ => String::new(),
    });
    let keys = words.nth(2).and_then(|count| count.parse().ok());
    words.take(keys.unwrap_or_default()).collect()
}
