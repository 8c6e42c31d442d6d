//! Escapes separators in the values of a key template.

use crate::Key;

/// Escapes a formatted value for use in a key.
#[must_use]
pub fn escaped(value: &str) -> String {
    Key::escape(value).into_owned()
}
