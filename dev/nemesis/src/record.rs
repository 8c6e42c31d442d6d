//! What a process notes of its changes, line by line, so that a kill loses none that it knew of.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use leasehold_testkit::history::{HistoryError, JsonLines, Moment, read_lines};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// What is changed, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// It was confirmed.
    Applied,
    /// It was surely not done.
    Refused,
    /// The answer is missing.
    Unknown,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

/// What is noted of a change.
#[derive(Debug, Serialize, Deserialize)]
enum Note {
    /// It is about to be sent.
    Begin(Change),
    /// It was answered, or given up.
    End {
        id: String,
        outcome: Outcome,
        at: Moment,
        read: Option<(usize, String)>,
    },
}

/// Notes to the end of a file.
#[derive(Debug, Clone)]
pub struct Notes(Arc<Mutex<JsonLines>>);

impl Notes {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn to_file(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self(Arc::new(Mutex::new(JsonLines::to_file(path)?))))
    }

    /// A change is about to be sent.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn begin(&self, id: &str, store: &str, work: Work, token: i64) -> Result<(), HistoryError> {
        self.0.lock().write(&Note::Begin(Change {
            id: id.to_owned(),
            store: store.to_owned(),
            work,
            token,
            begun: Moment::now(),
            ended: None,
            outcome: Outcome::Unknown,
            read: None,
        }))
    }

    /// It was answered, or given up.
    ///
    /// # Errors
    ///
    /// What the system says.
    pub fn end(
        &self,
        id: &str,
        outcome: Outcome,
        read: Option<(usize, String)>,
    ) -> Result<(), HistoryError> {
        let (id, at) = (id.to_owned(), Moment::now());
        self.0.lock().write(&Note::End {
            id,
            outcome,
            at,
            read,
        })
    }
}

/// Reads the files of several processes.
///
/// # Errors
///
/// If one cannot be read.
pub fn read<P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
) -> Result<Vec<Change>, HistoryError> {
    let mut changes = HashMap::new();
    for note in read_lines(files)? {
        match note {
            Note::Begin(change) => {
                changes.insert(change.id.clone(), change);
            }
            Note::End {
                id,
                outcome,
                at,
                read,
            } => {
                let ended = (outcome != Outcome::Unknown).then_some(at);
                if let Some(change) = changes.get_mut(&id) {
                    (change.outcome, change.ended, change.read) = (outcome, ended, read);
                }
            }
        }
    }
    Ok(changes.into_values().collect())
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
        notes
            .end("1.1", Outcome::Applied, Some((0, String::new())))
            .unwrap();
        notes.begin("1.2", "sqlite", Work::ControlTrail, 8).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text + "{\"End\":{\"id\":\"1.2\",\"outc").unwrap();
        let mut changes = read([&path]).unwrap();
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
