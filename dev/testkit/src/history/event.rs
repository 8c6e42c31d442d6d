//! One thing that happened.

use serde_json::{Value, json};

use super::error::HistoryError;
use super::moment::Moment;

/// What happened to a hold. Its number is unique among the processes of this
/// machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A lock was granted.
    Granted {
        /// The hold's number.
        hold: u64,
        /// The lock's key.
        key: String,
        /// The fencing token that came with it, if the lock has such.
        token: Option<i64>,
        /// Before it was asked for.
        requested_at: Moment,
        /// After it was granted.
        at: Moment,
    },
    /// Its holder believed it valid.
    Valid {
        /// The hold's number.
        hold: u64,
        /// When.
        at: Moment,
    },
    /// Its holder gave it up, or knew that it was lost.
    Ended {
        /// The hold's number.
        hold: u64,
        /// When its holder last believed it valid.
        at: Moment,
    },
}

impl Event {
    /// As a line of JSON, without its end.
    #[must_use]
    pub fn to_line(&self) -> String {
        let value = match self {
            Self::Granted {
                hold,
                key,
                token,
                requested_at,
                at,
            } => json!({
                "event": "granted", "hold": hold, "key": key, "token": token,
                "requested_at": requested_at.0, "at": at.0,
            }),
            Self::Valid { hold, at } => json!({ "event": "valid", "hold": hold, "at": at.0 }),
            Self::Ended { hold, at } => json!({ "event": "ended", "hold": hold, "at": at.0 }),
        };
        value.to_string()
    }

    /// Reads such a line.
    ///
    /// # Errors
    ///
    /// [`HistoryError::Line`] if it is none.
    pub fn of_line(line: &str) -> Result<Self, HistoryError> {
        let read = || {
            let value: Value = serde_json::from_str(line).ok()?;
            let number = |field: &str| value[field].as_u64();
            let (hold, at) = (number("hold")?, Moment(number("at")?));
            Some(match value["event"].as_str()? {
                "granted" => Self::Granted {
                    hold,
                    key: value["key"].as_str()?.to_owned(),
                    token: value["token"].as_i64(),
                    requested_at: Moment(number("requested_at")?),
                    at,
                },
                "valid" => Self::Valid { hold, at },
                "ended" => Self::Ended { hold, at },
                _ => return None,
            })
        };
        read().ok_or_else(|| HistoryError::Line(line.to_owned()))
    }
}
