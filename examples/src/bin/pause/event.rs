use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An event of a client. Clients print their events as lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    Asks,
    Holds(i64),
    Read(i64),
    Valid(bool),
    Stops,
    Wakes,
    Wrote(i64),
    Refused { token: i64, newest: i64 },
    Released,
    AlreadyLost,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asks => f.write_str("asks for the lock"),
            Self::Holds(token) => write!(f, "holds it, token {token}"),
            Self::Read(balance) => write!(f, "reads {balance}"),
            Self::Valid(true) => f.write_str("sees that its lock is valid"),
            Self::Valid(false) => f.write_str("sees that its lock is lost"),
            Self::Stops => f.write_str("is stopped"),
            Self::Wakes => f.write_str("wakes up"),
            Self::Wrote(balance) => write!(f, "writes {balance}"),
            Self::Refused { newest, .. } => write!(f, "is refused: {newest} is newer"),
            Self::Released => f.write_str("releases the lock"),
            Self::AlreadyLost => f.write_str("had lost the lock"),
        }
    }
}

impl Event {
    /// Prints the event with the time.
    pub(crate) fn say(&self) {
        let words = match self {
            Self::Asks => "asks".to_owned(),
            Self::Holds(token) => format!("holds {token}"),
            Self::Read(balance) => format!("read {balance}"),
            Self::Valid(valid) => format!("valid {valid}"),
            Self::Stops => "stops".to_owned(),
            Self::Wakes => "wakes".to_owned(),
            Self::Wrote(balance) => format!("wrote {balance}"),
            Self::Refused { token, newest } => format!("refused {token} {newest}"),
            Self::Released => "released".to_owned(),
            Self::AlreadyLost => "already-lost".to_owned(),
        };
        println!("{} {words}", now().as_micros());
    }

    /// Parses the line of another process.
    pub(crate) fn of_line(line: &str) -> Option<(Duration, Self)> {
        let mut words = line.split(' ');
        let at = Duration::from_micros(words.next()?.parse().ok()?);
        let words: Vec<&str> = words.collect();
        let event = match words[..] {
            ["asks"] => Self::Asks,
            ["holds", token] => Self::Holds(token.parse().ok()?),
            ["read", balance] => Self::Read(balance.parse().ok()?),
            ["valid", valid] => Self::Valid(valid.parse().ok()?),
            ["stops"] => Self::Stops,
            ["wakes"] => Self::Wakes,
            ["wrote", balance] => Self::Wrote(balance.parse().ok()?),
            ["refused", token, newest] => Self::Refused {
                token: token.parse().ok()?,
                newest: newest.parse().ok()?,
            },
            ["released"] => Self::Released,
            ["already-lost"] => Self::AlreadyLost,
            _ => return None,
        };
        Some((at, event))
    }
}

/// Returns the time of a clock that the processes share. It is precise enough for a picture, but not for a lock.
pub(crate) fn now() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}
