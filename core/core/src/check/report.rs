//! All findings of a check, and their table.

use std::fmt;

use super::{Finding, Verdict};

/// What [`LockManager::check`](crate::LockManager::check) has found.
///
/// `Display` writes a table. A finding that is not good has a second line with the guarantee and the remedy:
///
/// ```text
/// ok       acquire         0.4 ms
/// warning  persistence     no append-only file
///                          touches exclusion, tokens (T3): set appendonly to yes
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckReport {
    /// The findings: first those of the operations, then those of the settings.
    pub findings: Vec<Finding>,
}

impl CheckReport {
    /// Returns the worst verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.findings.iter().map(|it| it.verdict);
        verdicts.max().unwrap_or(Verdict::Good)
    }
}

impl fmt::Display for CheckReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest = self.findings.iter().map(|it| it.name.len()).max();
        let width = widest.unwrap_or_default();
        for (number, finding) in self.findings.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            let Finding {
                verdict,
                name,
                found,
                guarantee,
                remedy,
            } = finding;
            write!(f, "{verdict:7}  {name:width$}  {found}")?;
            if let Some(remedy) = remedy {
                write!(
                    f,
                    "\n{:indent$}touches {guarantee}: {remedy}",
                    "",
                    indent = width + 11
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_aligns_its_columns_and_shows_remedies_below() {
        let report = CheckReport {
            findings: vec![
                Finding::good("acquire", "exclusion", "0.4 ms"),
                Finding::warning(
                    "persistence",
                    "exclusion",
                    "no file",
                    "set appendonly to yes",
                ),
            ],
        };
        assert_eq!(report.verdict(), Verdict::Warning);
        let table = "ok       acquire      0.4 ms\n\
                     warning  persistence  no file\n\
                     \x20                     touches exclusion: set appendonly to yes";
        assert_eq!(report.to_string(), table);
    }
}
