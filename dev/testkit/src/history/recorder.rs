//! Records events.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::error::HistoryError;
use super::event::Event;
use super::holds::History;
use super::lines::JsonLines;
use super::moment::Moment;
use super::specification::Mode;

/// Records the events of holders. It is cheap to clone, and can be used from any thread.
#[derive(Debug, Clone)]
pub struct Recorder {
    notes: Arc<Mutex<Notes>>,
}

#[derive(Debug, Default)]
struct Notes {
    events: Vec<Event>,
    file: Option<JsonLines>,
    failed: Option<HistoryError>,
}

/// A held lock that is being recorded. If this value is dropped, the lock counts as ended when its holder last reported
/// it as valid.
#[derive(Debug)]
#[must_use = "it is to be told how the hold goes on"]
pub struct Noted {
    notes: Arc<Mutex<Notes>>,
    number: u64,
}

impl Recorder {
    /// Creates a recorder in memory, for [`history`](Self::history).
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            notes: Arc::default(),
        }
    }

    /// Creates a recorder in memory that also appends to a file, which another process can read. Each event is written
    /// immediately, so a kill does not lose a written event. Several processes may use the same file or separate ones.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError::File`] if it cannot be opened.
    pub fn to_file(path: &Path) -> Result<Self, HistoryError> {
        let recorder = Self::in_memory();
        recorder.notes.lock().file = Some(JsonLines::to_file(path)?);
        Ok(recorder)
    }

    /// Records that a lock was just granted, and was requested after `requested_at`. The locks of foreign clients do
    /// not have a token.
    pub fn granted(&self, key: &str, token: impl Into<Option<i64>>, requested_at: Moment) -> Noted {
        self.granted_in(Mode::Exclusive, key, token, requested_at)
    }

    /// Like [`granted`](Self::granted), in another mode.
    pub fn granted_in(
        &self,
        mode: Mode,
        key: &str,
        token: impl Into<Option<i64>>,
        requested_at: Moment,
    ) -> Noted {
        let at = Moment::now();
        let number = new_number();
        self.notes.lock().add(Event::Granted {
            hold: number,
            key: key.to_owned(),
            mode,
            token: token.into(),
            requested_at,
            at,
        });
        Noted {
            notes: Arc::clone(&self.notes),
            number,
        }
    }

    /// Returns all records of this recorder and its clones.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError::File`] if a record could not be written.
    pub fn history(&self) -> Result<History, HistoryError> {
        let mut notes = self.notes.lock();
        match notes.failed.take() {
            Some(error) => Err(error),
            None => History::of_events(notes.events.iter().cloned()),
        }
    }
}

impl Noted {
    /// Records that the lock is valid at this moment. Read the moment *before* checking the lock.
    pub fn valid_at(&self, at: Moment) {
        let hold = self.number;
        self.notes.lock().add(Event::Valid { hold, at });
    }

    /// Records that the lock is about to be released, and is still valid.
    pub fn ended(self) {
        self.ended_at(Moment::now());
    }

    /// Records the loss of the lock. `at` is when its holder last considered it valid: a moment before the check. If
    /// that was before the grant was recorded, the duration of the lock is zero, and the lock overlaps nothing.
    pub fn ended_at(self, at: Moment) {
        let hold = self.number;
        self.notes.lock().add(Event::Ended { hold, at });
    }
}

impl Notes {
    fn add(&mut self, event: Event) {
        if let Some(Err(error)) = self.file.as_mut().map(|file| file.write(&event)) {
            self.failed = Some(error);
        }
        self.events.push(event);
    }
}

/// Returns a number that is unique as long as no process id occurs twice in one history.
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    (u64::from(std::process::id()) << 32) + NEXT.fetch_add(1, Ordering::Relaxed)
}
