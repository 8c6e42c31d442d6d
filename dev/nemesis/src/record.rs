//! The records of a process about its changes. They are written line by line, so that a kill does not lose a completed
//! record.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use leasehold_testkit::history::{HistoryError, JsonLines, Moment, read_lines};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Work {
    /// Reads and writes counter and list, after claiming the resource with a fence.
    Ledger,
    /// Appends a token in a fenced write that reads nothing.
    Trail,
    /// Like `Ledger`, without a fence.
    ControlLedger,
    /// Like `Trail`, without a fence.
    ControlTrail,
}

/// The result of a change, as far as its process knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// The change was confirmed.
    Applied,
    /// The change was definitely not made.
    Refused,
    /// There was no answer.
    Unknown,
}

/// A change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The unique id of the change.
    pub id: String,
    /// The kind of data.
    pub store: String,
    /// The kind of the change.
    pub work: Work,
    /// The token of the holder.
    pub token: i64,
    /// The time before anything was sent.
    pub begun: Moment,
    /// The time after the answer, or `None` without an answer.
    pub ended: Option<Moment>,
    /// The result of the change.
    pub outcome: Outcome,
    /// The number of entries that it read before it wrote, and the last of them.
    pub read: Option<(usize, String)>,
}

/// A record of a change.
#[derive(Debug, Serialize, Deserialize)]
enum Note {
    /// The change is about to be sent.
    Begin(Change),
    /// The change was answered, or given up.
    End {
        id: String,
        outcome: Outcome,
        at: Moment,
        read: Option<(usize, String)>,
    },
}

/// Appends records to a file.
#[derive(Debug, Clone)]
pub struct Notes(Arc<Mutex<JsonLines>>);

impl Notes {
    /// Opens the file.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
    pub fn to_file(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self(Arc::new(Mutex::new(JsonLines::to_file(path)?))))
    }

    /// Records that a change is about to be sent.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
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

    /// Records that a change was answered, or given up.
    ///
    /// # Errors
    ///
    /// Returns the error of the system.
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
/// Returns an error if a file cannot be read.
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
    fn recorded_changes_are_read_and_a_truncated_line_is_ignored() {
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
