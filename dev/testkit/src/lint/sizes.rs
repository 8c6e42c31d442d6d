//! Checks that source files are short: the median, and each file.

use super::Verdict;
use super::sources;
use crate::error::Error;
use crate::workspace::Workspace;

/// The maximum number of lines of the median source file.
pub const MEDIAN_LIMIT: usize = 160;

/// The maximum number of lines of a source file.
pub const SINGLE_LIMIT: usize = 450;

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut sizes: Vec<(usize, String)> = sources::of_workspace(workspace)?
        .into_iter()
        .map(|source| (source.text.lines().count(), source.shown))
        .collect();
    sizes.sort();
    Ok(judge(&sizes))
}

/// Judges sizes that are sorted in ascending order.
fn judge(sizes: &[(usize, String)]) -> Verdict {
    let mut verdict = Verdict::default();
    let Some((median, _)) = sizes.get(sizes.len() / 2) else {
        verdict.faults.push("there is no source file".to_owned());
        return verdict;
    };
    let largest: Vec<String> = sizes
        .iter()
        .rev()
        .take(3)
        .map(|(lines, file)| format!("{file} ({lines})"))
        .collect();
    verdict.notes.push(format!(
        "{} files, median {median} lines, largest {}",
        sizes.len(),
        largest.join(", ")
    ));
    if *median > MEDIAN_LIMIT {
        verdict.faults.push(format!(
            "the median file has {median} lines, above {MEDIAN_LIMIT}"
        ));
    }
    for (lines, file) in sizes.iter().filter(|(lines, _)| *lines > SINGLE_LIMIT) {
        verdict
            .faults
            .push(format!("{file} has {lines} lines, above {SINGLE_LIMIT}"));
    }
    verdict
}
