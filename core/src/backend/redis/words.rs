//! How values are written for the scripts.

use std::borrow::Cow;
use std::time::Duration;

use crate::backend::Mode;

/// A mode as the scripts read it.
pub(super) fn written(mode: Mode) -> Cow<'static, str> {
    match mode {
        Mode::Exclusive => "x".into(),
        Mode::Shared => "s".into(),
        Mode::Permits { count, of } => format!("p{count}/{of}").into(),
    }
}

pub(super) fn millis(duration: Duration) -> String {
    millis_of(duration).to_string()
}

pub(super) fn millis_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

pub(super) fn flag(set: bool) -> &'static str {
    if set { "1" } else { "0" }
}
