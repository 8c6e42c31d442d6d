//! Versions.

use std::fmt;

/// The version of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Version {
    major: u32,
    minor: u32,
    shown: String,
}

impl Version {
    /// Finds the first version in a text: `7.0.15` in
    /// `Redis server v=7.0.15 sha=00000000:0`.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is_part = |letter: char| letter.is_ascii_digit() || letter == '.';
        text.split(|letter| !is_part(letter)).find_map(|word| {
            let mut numbers = word.split('.');
            Some(Self {
                major: numbers.next()?.parse().ok()?,
                minor: numbers.next()?.parse().ok()?,
                shown: word.to_owned(),
            })
        })
    }

    pub(super) fn is_at_least(&self, least: (u32, u32)) -> bool {
        (self.major, self.minor) >= least
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}
