//! Limits the size of a reply. This module reads the headers before the `redis` crate allocates memory for the reply.

use std::error::Error;
use std::fmt;
use std::io;

/// The longest line, in bytes. Redis has the same limit for lines from clients. Errors and statuses are lines.
const LONGEST_LINE: usize = 64 * 1024;

/// The memory of one item of a reply in addition to its bytes. The `redis` crate allocates as many items as a header
/// announces.
const PART: usize = 64;

/// The longest number in a header.
const LONGEST_NUMBER: usize = 32;

/// A server's reply, or a message that it pushed, exceeds the limit. The limit is 16 MiB on a lock's connection, and 64
/// MiB on the connection of a [`RedisFenceStore`](crate::RedisFenceStore). Each item of a list counts 64 bytes extra. A
/// line may have at most 64 KiB. The client has closed the connection.
///
/// This error is the source of the [`BackendError`](leasehold_core::backend::BackendError) of the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReplyTooLarge {
    /// The limit in bytes, for a reply or for a line of it.
    pub limit: usize,
}

impl fmt::Display for ReplyTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a reply of the server, or a line of it, is larger than {} KiB",
            self.limit / 1024
        )
    }
}

impl Error for ReplyTooLarge {}

impl From<ReplyTooLarge> for io::Error {
    fn from(error: ReplyTooLarge) -> Self {
        // The `redis` crate closes the connection for an error of this kind.
        Self::new(io::ErrorKind::ConnectionAborted, error)
    }
}

/// Tracks the replies of a server, and the size of each.
///
/// This type finds only the beginning and end of each value. The `redis` crate parses the rest of the protocol. Input
/// that this type cannot parse counts as one endless reply.
#[derive(Debug)]
pub(super) struct ReplySize {
    limit: usize,
    /// The remaining part of the limit for the current reply.
    left: usize,
    /// The number of values that are still missing in the current reply.
    values: usize,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// The next byte begins a value.
    Begin,
    Line(Line),
    /// The next byte belongs to a string, or to the line end after it.
    String {
        left: usize,
    },
    /// The input contained bytes that are not a value.
    Lost,
}

#[derive(Debug)]
struct Line {
    kind: u8,
    length: usize,
    number: [u8; LONGEST_NUMBER],
    is_ending: bool,
}

/// The contents that a header announces.
enum Announced {
    Nothing,
    /// The value has this many bytes, followed by a line end.
    Bytes(usize),
    Values(usize),
    Nonsense,
}

impl ReplySize {
    pub(super) fn at_most(limit: usize) -> Self {
        Self {
            limit,
            left: limit,
            values: 1,
            place: Place::Begin,
        }
    }

    /// Reads the server's next bytes.
    pub(super) fn follow(&mut self, mut bytes: &[u8]) -> Result<(), ReplyTooLarge> {
        while let Some((&first, rest)) = bytes.split_first() {
            match &mut self.place {
                Place::Begin => {
                    self.place = Place::Line(Line::of(first));
                    bytes = rest;
                }
                Place::Line(line) => match line.follow(bytes)? {
                    None => return Ok(()),
                    Some((announced, rest)) => {
                        let length = line.length;
                        self.take(length)?;
                        self.announced(&announced)?;
                        bytes = rest;
                    }
                },
                Place::String { left } => {
                    let here = bytes.len().min(*left);
                    *left -= here;
                    let is_whole = *left == 0;
                    bytes = &bytes[here..];
                    if is_whole {
                        self.value_ends();
                    }
                }
                Place::Lost => return self.take(bytes.len()),
            }
        }
        Ok(())
    }

    fn announced(&mut self, announced: &Announced) -> Result<(), ReplyTooLarge> {
        match *announced {
            Announced::Nothing => self.value_ends(),
            Announced::Bytes(count) => {
                let left = count.saturating_add(2);
                self.take(left)?;
                self.place = Place::String { left };
            }
            Announced::Values(count) => {
                self.take(count.saturating_mul(PART))?;
                // This cannot overflow, because both sizes were subtracted from the limit.
                self.values += count;
                self.value_ends();
            }
            Announced::Nonsense => self.place = Place::Lost,
        }
        Ok(())
    }

    fn value_ends(&mut self) {
        self.place = Place::Begin;
        self.values -= 1;
        if self.values == 0 {
            (self.values, self.left) = (1, self.limit);
        }
    }

    fn take(&mut self, bytes: usize) -> Result<(), ReplyTooLarge> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or(ReplyTooLarge { limit: self.limit })?;
        Ok(())
    }
}

impl Line {
    fn of(kind: u8) -> Self {
        Self {
            kind,
            length: 0,
            number: [0; LONGEST_NUMBER],
            is_ending: false,
        }
    }

    /// Returns the contents that the header announces, and the bytes after the header. Returns `None` if the header is
    /// incomplete.
    fn follow<'b>(
        &mut self,
        bytes: &'b [u8],
    ) -> Result<Option<(Announced, &'b [u8])>, ReplyTooLarge> {
        for (place, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' && self.is_ending {
                return Ok(Some((self.announces(), &bytes[place + 1..])));
            }
            self.is_ending = byte == b'\r';
            if let Some(digit) = self.number.get_mut(self.length) {
                *digit = byte;
            }
            self.length += 1;
            if self.length > LONGEST_LINE {
                return Err(ReplyTooLarge {
                    limit: LONGEST_LINE,
                });
            }
        }
        Ok(None)
    }

    fn announces(&self) -> Announced {
        match self.kind {
            b'+' | b'-' | b':' | b'_' | b',' | b'#' | b'(' => Announced::Nothing,
            b'$' => match self.number() {
                Some(..0) => Announced::Nothing,
                count => counted(count, Announced::Bytes),
            },
            b'!' | b'=' => counted(self.number(), Announced::Bytes),
            b'*' | b'~' | b'>' => match self.number() {
                Some(..0) => Announced::Nothing,
                count => counted(count, Announced::Values),
            },
            b'%' => counted(self.number(), |pairs| {
                Announced::Values(pairs.saturating_mul(2))
            }),
            // Attributes precede the value that they describe.
            b'|' => counted(self.number(), |pairs| {
                Announced::Values(pairs.saturating_mul(2).saturating_add(1))
            }),
            _ => Announced::Nonsense,
        }
    }

    /// Parses a number as the `redis` crate does.
    fn number(&self) -> Option<i64> {
        // The number ends before the first byte of the line end.
        let digits = self.number.get(..self.length.checked_sub(1)?)?;
        str::from_utf8(digits).ok()?.trim().parse().ok()
    }
}

fn counted(count: Option<i64>, announced: impl FnOnce(usize) -> Announced) -> Announced {
    let count = count.and_then(|count| usize::try_from(count).ok());
    count.map_or(Announced::Nonsense, announced)
}

#[cfg(test)]
mod tests {
    use redis::{Value, parse_redis_value};

    use super::*;

    const LIMIT: usize = 4096;

    fn follow(size: &mut ReplySize, bytes: &[u8], chunk: usize) -> Result<(), ReplyTooLarge> {
        bytes.chunks(chunk).try_for_each(|chunk| size.follow(chunk))
    }

    #[test]
    fn the_end_of_each_reply_type_matches_the_redis_crate() {
        for reply in [
            "+OK\r\n",
            "-ERR no\r\n",
            "+a\rb\r\r\n",
            ":-7\r\n",
            "_\r\n",
            ",1.5\r\n",
            "#t\r\n",
            "(123456789012345678901234567890\r\n",
            "$-1\r\n",
            "$0\r\n\r\n",
            "$ 3 \r\n*1\r\r\n",
            "!5\r\nERR x\r\n",
            "=7\r\ntxt:abc\r\n",
            "*-1\r\n",
            "*0\r\n",
            "~2\r\n:1\r\n:2\r\n",
            "%1\r\n+k\r\n*2\r\n$1\r\nv\r\n_\r\n",
            "|1\r\n+k\r\n+v\r\n*1\r\n+data\r\n",
            ">3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n\r\n\r\n",
            ">0\r\n",
            "*2\r\n*2\r\n:1\r\n*0\r\n%0\r\n",
        ] {
            parse_redis_value(reply.as_bytes()).unwrap();
            for chunk in [1, 2, 3, reply.len()] {
                let mut size = ReplySize::at_most(LIMIT);
                for _ in 0..LIMIT {
                    follow(&mut size, reply.as_bytes(), chunk).unwrap();
                    assert!(matches!(size.place, Place::Begin), "{reply}");
                    assert_eq!((size.values, size.left), (1, LIMIT), "{reply}");
                }
                let (most, _its_last) = reply.as_bytes().split_at(reply.len() - 1);
                follow(&mut size, most, chunk).unwrap();
                let is_whole = matches!(size.place, Place::Begin) && size.values == 1;
                assert!(!is_whole, "{reply}");
            }
        }
    }

    #[test]
    fn a_too_large_reply_is_refused_at_its_header() {
        for (header, limit) in [
            ("$2147483648\r\n".to_owned(), LIMIT),
            (format!("${LIMIT}\r\n"), LIMIT),
            ("!9223372036854775807\r\n".to_owned(), LIMIT),
            ("=5000\r\n".to_owned(), LIMIT),
            ("*2147483647\r\n".to_owned(), LIMIT),
            ("*9223372036854775807\r\n".to_owned(), LIMIT),
            ("~65\r\n".to_owned(), LIMIT),
            (">65\r\n".to_owned(), LIMIT),
            ("%32\r\n".to_owned(), LIMIT),
            ("%9223372036854775807\r\n".to_owned(), LIMIT),
            ("|9223372036854775807\r\n".to_owned(), LIMIT),
            ("*40\r\n:1\r\n*40\r\n".to_owned(), LIMIT),
            ("*1\r\n".repeat(70), LIMIT),
            (format!("*1\r\n${}\r\n", LIMIT - 64), LIMIT),
            (format!("+{}", "x".repeat(LONGEST_LINE + 1)), LONGEST_LINE),
            (format!("-{}", "x".repeat(LONGEST_LINE + 1)), LONGEST_LINE),
            (format!("${}", "1".repeat(LONGEST_LINE + 1)), LONGEST_LINE),
        ] {
            for chunk in [1, 5, header.len()] {
                let mut size = ReplySize::at_most(LIMIT);
                let refused = follow(&mut size, header.as_bytes(), chunk).unwrap_err();
                assert_eq!(refused, ReplyTooLarge { limit });
            }
        }
    }

    #[test]
    fn the_size_limit_applies_to_each_reply_separately() {
        let mut size = ReplySize::at_most(LIMIT);
        let string = format!("${0}\r\n{1}\r\n", LIMIT - 8, "x".repeat(LIMIT - 8));
        let list = format!("*60\r\n{}", ":1\r\n".repeat(60));
        for _ in 0..3 {
            size.follow(string.as_bytes()).unwrap();
            size.follow(list.as_bytes()).unwrap();
        }
    }

    #[test]
    fn an_invalid_reply_counts_as_one_endless_reply() {
        for nonsense in [
            "x\r\n", "$x\r\n", "=-1\r\n", "!-1\r\n", "%-1\r\n", "*\r\n", "\r\n",
        ] {
            let mut size = ReplySize::at_most(LIMIT);
            size.follow(nonsense.as_bytes()).unwrap();
            let mut followed = 0;
            while size.follow(b"+OK\r\n").is_ok() {
                followed += 5;
            }
            assert!(followed <= LIMIT, "{nonsense}");
        }
    }

    #[test]
    fn a_redis_value_is_not_larger_than_its_counted_size() {
        assert!(size_of::<Value>() <= PART);
    }
}
