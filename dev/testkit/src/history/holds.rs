//! Combines events into held locks.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::Path;

use super::error::HistoryError;
use super::event::Event;
use super::lines::read_lines;
use super::moment::Moment;
use super::specification::Mode;

/// The time for which a holder considered its lock valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// The number of the held lock.
    pub number: u64,
    /// The key of the lock.
    pub key: String,
    /// The mode of the lock.
    pub mode: Mode,
    /// The fencing token, if the lock has one.
    pub token: Option<i64>,
    /// A time before the request.
    pub requested_at: Moment,
    /// A time after the grant.
    pub granted_at: Moment,
    /// The time when the holder last reported the lock as valid. It is not after `granted_at` if the holder never did.
    pub until: Moment,
    /// Whether the holder has recorded the end. A killed holder has not.
    pub ended: bool,
}

impl Hold {
    /// Returns the id of the process that recorded it.
    #[must_use]
    pub const fn process(&self) -> u64 {
        self.number >> 32
    }
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.ended { "" } else { " at least" };
        let token = match self.token {
            Some(token) => format!("token {token}"),
            None => "no token".to_owned(),
        };
        write!(
            f,
            "hold {:x} (process {}, {:?}) with {token}: asked for at {}, granted at {}, valid until {}{end}",
            self.number,
            self.process(),
            self.mode,
            self.requested_at,
            self.granted_at,
            self.until,
        )
    }
}

/// All held locks, in the order of their grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    holds: Vec<Hold>,
}

impl History {
    /// Combines events in any order.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError::NeverGranted`] if a grant is missing.
    pub fn of_events(events: impl IntoIterator<Item = Event>) -> Result<Self, HistoryError> {
        let mut holds: HashMap<u64, Hold> = HashMap::new();
        let mut later = Vec::new();
        for event in events {
            match event {
                Event::Granted {
                    hold: number,
                    key,
                    mode,
                    token,
                    requested_at,
                    at,
                } => {
                    let hold = Hold {
                        number,
                        key,
                        mode,
                        token,
                        requested_at,
                        granted_at: at,
                        until: at,
                        ended: false,
                    };
                    holds.insert(number, hold);
                }
                Event::Valid { hold, at } => later.push((hold, at, false)),
                Event::Ended { hold, at } => later.push((hold, at, true)),
            }
        }
        for (number, at, ended) in later {
            let Entry::Occupied(mut entry) = holds.entry(number) else {
                return Err(HistoryError::NeverGranted(number));
            };
            let hold = entry.get_mut();
            hold.until = hold.until.max(at);
            hold.ended |= ended;
        }
        Ok(Self::of_holds(holds.into_values().collect()))
    }

    /// Creates a history of these held locks, in any order.
    #[must_use]
    pub fn of_holds(mut holds: Vec<Hold>) -> Self {
        holds.sort_by_key(|hold| (hold.granted_at, hold.number));
        Self { holds }
    }

    /// Reads the files of several processes. An incomplete last line, which a killed process may leave, is ignored.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError`] if a file cannot be read or is not a history.
    pub fn read<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Self, HistoryError> {
        Self::of_events(read_lines(files)?)
    }

    /// Returns all held locks, in the order of their grants.
    #[must_use]
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// Returns the held locks of each key, in the order of their grants.
    pub(super) fn by_key(&self) -> HashMap<&str, Vec<&Hold>> {
        let mut keys: HashMap<&str, Vec<&Hold>> = HashMap::new();
        for hold in &self.holds {
            keys.entry(&hold.key).or_default().push(hold);
        }
        keys
    }
}
