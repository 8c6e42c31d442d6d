//! Noting events.

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

/// Notes what holders do. Cheap to clone and to use from any thread.
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

/// A hold that is being noted. Dropped without a word, it counts as ended when
/// its holder last said that it was valid.
#[derive(Debug)]
#[must_use = "it is to be told how the hold goes on"]
pub struct Noted {
    notes: Arc<Mutex<Notes>>,
    number: u64,
}

impl Recorder {
    /// Notes in memory, for [`history`](Self::history).
    #[must_use]
    pub fn in_memory() -> Self {
        Self {
            notes: Arc::default(),
        }
    }

    /// Notes in memory, and at the end of a file, to be read by another process:
    /// each event is there at once, so that a kill loses none. Give each process
    /// a file of its own, or the same.
    ///
    /// # Errors
    ///
    /// [`HistoryError::File`] if it cannot be opened.
    pub fn to_file(path: &Path) -> Result<Self, HistoryError> {
        let recorder = Self::in_memory();
        recorder.notes.lock().file = Some(JsonLines::to_file(path)?);
        Ok(recorder)
    }

    /// A lock has just been granted that was asked for after this moment. The
    /// locks of foreign clients have no token.
    pub fn granted(&self, key: &str, token: impl Into<Option<i64>>, requested_at: Moment) -> Noted {
        self.granted_in(Mode::Exclusive, key, token, requested_at)
    }

    /// As [`granted`](Self::granted), in another mode.
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

    /// All that was noted by this recorder and its clones.
    ///
    /// # Errors
    ///
    /// [`HistoryError::File`] if something could not be written.
    pub fn history(&self) -> Result<History, HistoryError> {
        let mut notes = self.notes.lock();
        match notes.failed.take() {
            Some(error) => Err(error),
            None => History::of_events(notes.events.iter().cloned()),
        }
    }
}

impl Noted {
    /// It is valid at this moment, which was read *before* asking whether it is.
    pub fn valid_at(&self, at: Moment) {
        let hold = self.number;
        self.notes.lock().add(Event::Valid { hold, at });
    }

    /// It is about to be released, and is still valid.
    pub fn ended(self) {
        self.ended_at(Moment::now());
    }

    /// It was lost, and this is when its holder last believed it valid: a moment
    /// read before asking. If that was before the grant was noted, the hold is
    /// empty and collides with nothing.
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

/// Unique as long as no process number comes twice in one history.
fn new_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    (u64::from(std::process::id()) << 32) + NEXT.fetch_add(1, Ordering::Relaxed)
}
