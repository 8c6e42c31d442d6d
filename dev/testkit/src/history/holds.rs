//! Events put together.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::path::Path;

use super::error::HistoryError;
use super::event::Event;
use super::lines::read_lines;
use super::moment::Moment;
use super::specification::Mode;

/// The time for which a holder believed that it had a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    /// Its number.
    pub number: u64,
    /// The lock's key.
    pub key: String,
    /// How it is held.
    pub mode: Mode,
    /// Its fencing token, if the lock has such.
    pub token: Option<i64>,
    /// Before the lock was asked for.
    pub requested_at: Moment,
    /// After it was granted.
    pub granted_at: Moment,
    /// When its holder last believed it valid, as far as it has said; not after
    /// `granted_at` if it never did.
    pub until: Moment,
    /// Whether its holder has noted an end, and was not killed for example.
    pub ended: bool,
}

impl Hold {
    /// The id of the process that noted it.
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

/// All holds, in the order of their grants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    holds: Vec<Hold>,
}

impl History {
    /// Puts events together, in whatever order they come.
    ///
    /// # Errors
    ///
    /// [`HistoryError::NeverGranted`] if the beginning of a hold is missing.
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

    /// Of these holds, in whatever order.
    #[must_use]
    pub fn of_holds(mut holds: Vec<Hold>) -> Self {
        holds.sort_by_key(|hold| (hold.granted_at, hold.number));
        Self { holds }
    }

    /// Reads the files of several processes. A line without an end, as a killed
    /// process may leave, is not counted.
    ///
    /// # Errors
    ///
    /// [`HistoryError`] if one cannot be read or is no history.
    pub fn read<P: AsRef<Path>>(files: impl IntoIterator<Item = P>) -> Result<Self, HistoryError> {
        Self::of_events(read_lines(files)?)
    }

    /// All holds, in the order of their grants.
    #[must_use]
    pub fn holds(&self) -> &[Hold] {
        &self.holds
    }

    /// The holds of each key, in the order of their grants.
    pub(super) fn by_key(&self) -> HashMap<&str, Vec<&Hold>> {
        let mut keys: HashMap<&str, Vec<&Hold>> = HashMap::new();
        for hold in &self.holds {
            keys.entry(&hold.key).or_default().push(hold);
        }
        keys
    }
}
