//! A message, read.

use super::frames::{line_at, number};

/// What a server says.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, in any of its three forms.
    Nil,
    /// A number.
    Int(i64),
    /// A number with a fraction.
    Double(f64),
    /// Yes or no.
    Bool(bool),
    /// A string of any kind; big numbers too.
    Text(Vec<u8>),
    /// A refusal: `NOAUTH Authentication required.`
    Error(String),
    /// An array or a set.
    Array(Vec<Self>),
    /// Pairs.
    Map(Vec<(Self, Self)>),
    /// What nobody asked for: a message of a channel.
    Push(Vec<Self>),
}

impl Value {
    /// Reads a whole message, as [`Frames`](super::Frames) gives it. `None` if
    /// it is not whole.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        read_at(frame, 0).map(|(value, _)| value)
    }

    /// The number, also if it is written out as a text.
    #[must_use]
    pub fn int(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Text(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
            _ => None,
        }
    }

    /// The text, if it is one.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// What is in it, if it is an array or a push.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) | Self::Push(items) => items,
            _ => &[],
        }
    }

    /// Whether it is the simple `OK`.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.text() == Some("OK")
    }
}

/// The value that begins here, and where it ends.
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
        // `txt:` or `mkd:` comes first.
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
