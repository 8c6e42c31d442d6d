//! The test counts that libtest prints.

use std::ops::AddAssign;

/// The number of tests, by their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Tests that passed.
    pub passed: u64,
    /// Tests that failed.
    pub failed: u64,
    /// Ignored tests.
    pub ignored: u64,
}

impl Counts {
    /// Parses a line of `cargo test`. Returns the counts if it is the result of one test binary, or `None` for any
    /// other line.
    #[must_use]
    pub fn of_line(line: &str) -> Option<Self> {
        let plain = without_colours(line);
        let result = plain.trim().strip_prefix("test result: ")?;
        let (_, numbers) = result.split_once(". ")?;
        let mut counts = Self::default();
        for part in numbers.split(';') {
            match part.trim().split_once(' ') {
                Some((number, "passed")) => counts.passed = number.parse().ok()?,
                Some((number, "failed")) => counts.failed = number.parse().ok()?,
                Some((number, "ignored")) => counts.ignored = number.parse().ok()?,
                _ => {}
            }
        }
        Some(counts)
    }

    /// Parses a line of `cargo test`. Returns the name of the failed test, if the line reports one.
    #[must_use]
    pub fn failed_test(line: &str) -> Option<String> {
        let plain = without_colours(line);
        let name = plain.trim().strip_prefix("test ")?;
        Some(name.strip_suffix(" ... FAILED")?.to_owned())
    }

    /// Adds the results of all test binaries in the output of `cargo test`.
    pub fn of_lines<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut sum = Self::default();
        for counts in lines.into_iter().filter_map(Self::of_line) {
            sum += counts;
        }
        sum
    }

    /// Returns the total number of tests.
    #[must_use]
    pub fn total(self) -> u64 {
        self.passed + self.failed + self.ignored
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
    }
}

/// Removes terminal escape sequences.
fn without_colours(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            plain.push(letter);
        } else if letters.next() == Some('[') {
            letters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            // Skip one more letter of a sequence such as `ESC ( B`.
            letters.next();
        }
    }
    plain
}
