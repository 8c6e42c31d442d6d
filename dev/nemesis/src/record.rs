//! What a process notes of its changes, line by line, so that a kill loses none that it knew of.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold_testkit::history::Moment;

/// What is changed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Work {
    /// Counter and list, read and written under a fence that was claimed before.
    Ledger,
    /// A token appended by a fenced write that reads nothing.
    Trail,
    /// As `Ledger`, without a fence.
    ControlLedger,
    /// As `Trail`, without a fence.
    ControlTrail,
}

/// What became of a change, as far as its process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It was confirmed.
    Applied,
    /// It was surely not done.
    Refused,
    /// The answer is missing.
    Unknown,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// No other has it.
    pub id: String,
    /// On which kind of data.
    pub store: String,
    /// What was changed.
    pub work: Work,
    /// Its holder's token.
    pub token: i64,
    /// Before anything was sent.
    pub begun: Moment,
    /// After the answer; none if there was none.
    pub ended: Option<Moment>,
    /// What became of it.
    pub outcome: Outcome,
    /// What it read before it wrote: how many entries, and the last of them.
    pub read: Option<(usize, String)>,
}

/// Notes to the end of a file.
#[derive(Debug, Clone)]
pub struct Notes(Arc<Mutex<File>>);

impl Notes {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn to_file(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self(Arc::new(Mutex::new(file))))
    }

    /// A change is about to be sent.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn begin(&self, id: &str, store: &str, work: Work, token: i64) -> io::Result<()> {
        let at = Moment::now().0;
        self.line(&format!("begin {id} {store} {work:?} {token} {at}\n"))
    }

    /// It was answered, or given up.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn end(&self, id: &str, outcome: Outcome, read: Option<(usize, &str)>) -> io::Result<()> {
        let at = Moment::now().0;
        let (count, last) = read.map_or((String::from("-"), "-"), |(n, it)| (n.to_string(), it));
        let last = if last.is_empty() { "-" } else { last };
        self.line(&format!("end {id} {outcome:?} {at} {count} {last}\n"))
    }

    fn line(&self, line: &str) -> io::Result<()> {
        let mut file = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(line.as_bytes())
    }
}

/// Reads the files of several processes. A line without an end, as a killed process may leave, does not count.
///
/// # Errors
///
/// If one cannot be read.
pub fn read<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> io::Result<Vec<Change>> {
    let mut changes = HashMap::new();
    for file in files {
        let text = match fs::read_to_string(file.as_ref()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            text => text?,
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let known = take(line, &mut changes);
            known.ok_or_else(|| io::Error::other(format!("no note of a change: {line}")))?;
        }
    }
    Ok(changes.into_values().collect())
}

fn take(line: &str, changes: &mut HashMap<String, Change>) -> Option<()> {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["begin", id, store, work, token, at] => {
            let change = Change {
                id: id.to_owned(),
                store: store.to_owned(),
                work: work_of(work)?,
                token: token.parse().ok()?,
                begun: Moment(at.parse().ok()?),
                ended: None,
                outcome: Outcome::Unknown,
                read: None,
            };
            changes.insert(id.to_owned(), change);
        }
        ["end", id, outcome, at, count, last] => {
            let change = changes.get_mut(id)?;
            change.outcome = outcome_of(outcome)?;
            if change.outcome != Outcome::Unknown {
                change.ended = Some(Moment(at.parse().ok()?));
            }
            if count != "-" {
                let last = if last == "-" { "" } else { last };
                change.read = Some((count.parse().ok()?, last.to_owned()));
            }
        }
        _ => return None,
    }
    Some(())
}

fn work_of(word: &str) -> Option<Work> {
    use Work::{ControlLedger, ControlTrail, Ledger, Trail};
    let all = [Ledger, Trail, ControlLedger, ControlTrail];
    all.into_iter().find(|it| format!("{it:?}") == word)
}

fn outcome_of(word: &str) -> Option<Outcome> {
    use Outcome::{Applied, Refused, Unknown};
    let all = [Applied, Refused, Unknown];
    all.into_iter().find(|it| format!("{it:?}") == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_and_a_torn_line_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        let notes = Notes::to_file(&path).unwrap();
        notes.begin("1.1", "sqlite", Work::Ledger, 7).unwrap();
        notes.end("1.1", Outcome::Applied, Some((0, ""))).unwrap();
        notes.begin("1.2", "sqlite", Work::ControlTrail, 8).unwrap();
        notes.line("end 1.2 App").unwrap();
        let mut changes = read([&path, &folder.path().join("none")]).unwrap();
        changes.sort_by(|one, other| one.id.cmp(&other.id));
        let [first, second] = &changes[..] else {
            panic!("{changes:?}")
        };
        assert_eq!((first.outcome, first.token), (Outcome::Applied, 7));
        assert_eq!(first.read, Some((0, String::new())));
        assert!(first.ended.unwrap() >= first.begun);
        assert_eq!((second.outcome, second.ended), (Outcome::Unknown, None));
        assert_eq!(second.work, Work::ControlTrail);
    }
}
