//! A parsed message.

use super::frames::{line_at, number};

/// A message of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nil, in any of its three forms.
    Nil,
    /// A number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// A boolean.
    Bool(bool),
    /// A string of any kind, or a big number.
    Text(Vec<u8>),
    /// An error: `NOAUTH Authentication required.`
    Error(String),
    /// An array or a set.
    Array(Vec<Self>),
    /// Pairs.
    Map(Vec<(Self, Self)>),
    /// A push, such as the message of a channel.
    Push(Vec<Self>),
}

impl Value {
    /// Parses a complete message, as returned by [`Frames`](super::Frames). Returns `None` if it is incomplete.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        read_at(frame, 0).map(|(value, _)| value)
    }

    /// Returns the number, even if it is in a text.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// Returns the text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// Returns the items of an array or a push.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) | Self::Push(items) => items,
            _ => &[],
        }
    }

    /// Returns whether it is the status `OK`.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.text() == Some("OK")
    }
}

/// Parses the value that begins here, and returns its end.
fn read_at(bytes: &[u8], from: usize) -> Option<(Value, usize)> {
    let (line, end) = line_at(bytes, from)?;
    let (kind, rest) = line.split_first()?;
    let text = || String::from_utf8_lossy(rest).into_owned();
    let value = match kind {
        b'_' => Value::Nil,
        b':' => Value::Int(text().parse().ok()?),
        b',' => Value::Double(text().parse().ok()?),
        b'#' => Value::Bool(rest == b"t"),
        b'-' => Value::Error(text()),
        b'+' | b'(' => Value::Text(rest.to_vec()),
        b'$' | b'=' | b'!' => return read_bulk(bytes, *kind, number(rest), end),
        b'*' | b'~' | b'>' => {
            let Some(length) = number(rest) else {
                return Some((Value::Nil, end));
            };
            let (items, end) = read_items(bytes, length, end)?;
            let value = match kind {
                b'>' => Value::Push(items),
                _ => Value::Array(items),
            };
            return Some((value, end));
        }
        b'%' => return read_map(bytes, number(rest)?, end),
        b'|' => {
            let (_, end) = read_map(bytes, number(rest)?, end)?;
            return read_at(bytes, end);
        }
        _ => return None,
    };
    Some((value, end))
}

fn read_bulk(bytes: &[u8], kind: u8, length: Option<usize>, from: usize) -> Option<(Value, usize)> {
    let Some(length) = length else {
        return Some((Value::Nil, from));
    };
    let data = bytes.get(from..from + length)?;
    let value = match kind {
        b'!' => Value::Error(String::from_utf8_lossy(data).into_owned()),
        // The data begins with `txt:` or `mkd:`.
        b'=' => Value::Text(data.get(4..)?.to_vec()),
        _ => Value::Text(data.to_vec()),
    };
    Some((value, from + length + 2))
}

fn read_items(bytes: &[u8], length: usize, from: usize) -> Option<(Vec<Value>, usize)> {
    let mut items = Vec::new();
    let mut at = from;
    for _ in 0..length {
        let (item, end) = read_at(bytes, at)?;
        items.push(item);
        at = end;
    }
    Some((items, at))
}

fn read_map(bytes: &[u8], length: usize, from: usize) -> Option<(Value, usize)> {
    let mut pairs = Vec::new();
    let mut at = from;
    for _ in 0..length {
        let (key, end) = read_at(bytes, at)?;
        let (value, end) = read_at(bytes, end)?;
        pairs.push((key, value));
        at = end;
    }
    Some((Value::Map(pairs), at))
}
