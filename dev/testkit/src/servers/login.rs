//! The users of a server, and their part of a URL.

/// A user of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) password: String,
    pub(super) rules: String,
}

/// Returns `name:password@`, with escaped special characters.
pub(super) fn part(name: &str, password: &str) -> String {
    format!("{}:{}@", escaped(name), escaped(password))
}

pub(super) fn escaped(text: &str) -> String {
    let mut plain = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            plain.push(byte.into());
        } else {
            plain.push_str(&format!("%{byte:02X}"));
        }
    }
    plain
}
