//! Converts the replies of a fenced pipeline.

use redis::Value;

/// The reply of a Redis server to one command of a [`FencedPipeline`](crate::FencedPipeline).
///
/// # Examples
///
/// ```
/// use leasehold::RedisReply;
///
/// let answer = RedisReply::Items(vec![RedisReply::Bytes(b"7".to_vec()), RedisReply::Nil]);
/// assert_eq!(answer.items()[0].text(), Some("7"));
/// assert_eq!(answer.items()[1].text(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedisReply {
    /// No value.
    Nil,
    /// A number: exact up to 2^53.
    Integer(i64),
    /// A value.
    Bytes(Vec<u8>),
    /// A status, usually `OK`.
    Status(String),
    /// A list.
    Items(Vec<Self>),
}

impl RedisReply {
    /// Returns the number, if the reply is a number.
    #[must_use]
    pub const fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns the text of a value or a status, if it is UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Status(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the items of a list, or an empty slice if the reply is not a list.
    #[must_use]
    pub fn items(&self) -> &[Self] {
        match self {
            Self::Items(items) => items,
            _ => &[],
        }
    }

    /// Converts a script's reply. Scripts use RESP2 types, whatever protocol the connection uses.
    pub(super) fn read(value: Value) -> Option<Self> {
        Some(match value {
            Value::Nil | Value::Boolean(false) => Self::Nil,
            Value::Int(number) => Self::Integer(number),
            Value::BulkString(bytes) => Self::Bytes(bytes),
            Value::Okay => Self::Status("OK".to_owned()),
            Value::SimpleString(text) => Self::Status(text),
            Value::Array(items) => {
                let items: Option<_> = items.into_iter().map(Self::read).collect();
                Self::Items(items?)
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ok_and_other_status_replies_are_read_as_text() {
        for (value, text) in [
            (Value::Okay, "OK"),
            (Value::SimpleString("PONG".to_owned()), "PONG"),
        ] {
            let status = RedisReply::read(value).unwrap();
            assert_eq!(status, RedisReply::Status(text.to_owned()));
            assert_eq!(status.text(), Some(text));
        }
    }

    #[test]
    fn only_an_integer_reply_is_read_as_an_integer() {
        assert_eq!(RedisReply::Integer(7).integer(), Some(7));
        assert_eq!(RedisReply::Status("7".to_owned()).integer(), None);
    }
}
