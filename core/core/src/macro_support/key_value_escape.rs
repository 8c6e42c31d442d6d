//! Escapes separators in the values of a key template.

use std::borrow::Cow;

use crate::Key;

/// Escapes a formatted value for use in a key.
#[must_use]
pub fn escaped(value: String) -> String {
    match Key::escape(&value) {
        Cow::Owned(escaped) => escaped,
        Cow::Borrowed(_unchanged) => value,
    }
}
