//! Splits a stream into messages.

/// Takes bytes as they arrive, and returns complete messages with all nested values. Supports RESP2, RESP3 and inline
/// commands.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// The end of the scanned part of the message at the start.
    scanned: usize,
    /// The number of missing values of this message, if it has begun.
    lacks: usize,
}

/// The error for a stream of another protocol, such as an encrypted stream or a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the protocol of Redis: {0:?} begins no message")]
pub struct NotResp(pub char);

impl Frames {
    /// Adds bytes that were read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete message, or `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// Returns [`NotResp`] if the bytes are not a message; [`take_rest`](Self::take_rest) returns them.
    pub fn next_frame(&mut self) -> Result<Option<Vec<u8>>, NotResp> {
        let begun = self.scanned > 0;
        if !begun {
            self.lacks = 1;
        }
        while self.lacks > 0 {
            if !self.scan_value()? {
                return Ok(None);
            }
        }
        let rest = self.bytes.split_off(self.scanned);
        self.scanned = 0;
        Ok(Some(std::mem::replace(&mut self.bytes, rest)))
    }

    /// Removes and returns the bytes that are not a complete message yet.
    #[must_use]
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.scanned = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Skips one value, without its nested values. Returns `false` if it is incomplete.
    fn scan_value(&mut self) -> Result<bool, NotResp> {
        let Some((line, end)) = line_at(&self.bytes, self.scanned) else {
            // A line without an end is incomplete.
            return match self.bytes.get(self.scanned) {
                Some(&first) if !may_begin(first) => Err(NotResp(first.into())),
                _ => Ok(false),
            };
        };
        let Some((&kind, length)) = line.split_first() else {
            // An empty line is a heartbeat of a replica.
            self.scanned = end;
            self.lacks -= 1;
            return Ok(true);
        };
        let length = number(length);
        match kind {
            b'$' | b'!' | b'=' => {
                let data = length.map_or(0, |length| length + 2);
                if self.bytes.len() < end + data {
                    return Ok(false);
                }
                self.scanned = end + data;
                self.lacks -= 1;
            }
            b'*' | b'~' | b'>' | b'%' | b'|' => {
                let nested = match kind {
                    b'%' => 2 * length.unwrap_or(0),
                    // Attributes precede the value that they describe.
                    b'|' => 2 * length.unwrap_or(0) + 1,
                    _ => length.unwrap_or(0),
                };
                self.scanned = end;
                self.lacks = self.lacks - 1 + nested;
            }
            first if may_begin(first) => {
                self.scanned = end;
                self.lacks -= 1;
            }
            first => return Err(NotResp(first.into())),
        }
        Ok(true)
    }
}

/// Returns the line that begins here, without its end, and the start of the next line.
pub(super) fn line_at(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(from..)?;
    let length = rest.iter().position(|&it| it == b'\n')?;
    let line = &rest[..length];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some((line, from + length + 1))
}

/// Returns the length in a header, or `None` for the -1 of RESP2's nil.
pub(super) fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Returns whether a message can begin with this byte: a type of RESP, a letter of an inline command, or an empty line.
fn may_begin(first: u8) -> bool {
    b"+-:$*_#,(!=%~>|\r\n".contains(&first) || first.is_ascii_alphabetic()
}
