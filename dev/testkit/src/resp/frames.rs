//! Cutting a stream into messages.

/// Takes bytes as they come and gives whole messages, each with all that is
/// nested in it. Knows RESP2, RESP3 and the inline commands of the server.
#[derive(Debug, Default)]
pub struct Frames {
    bytes: Vec<u8>,
    /// Up to here, the message at the start is known.
    scanned: usize,
    /// How many values this message lacks, if it has begun.
    lacks: usize,
}

/// The stream is not of this protocol: it is encrypted, or a dump.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not the protocol of Redis: {0:?} begins no message")]
pub struct NotResp(pub char);

impl Frames {
    /// Takes what was read.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message, or `None` until more has come.
    ///
    /// # Errors
    ///
    /// [`NotResp`] if it cannot be one; [`take_rest`](Self::take_rest) has it.
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

    /// Whatever is not yet a whole message.
    #[must_use]
    pub fn take_rest(&mut self) -> Vec<u8> {
        self.scanned = 0;
        std::mem::take(&mut self.bytes)
    }

    /// Steps over one value, not over those nested in it. False if it is not
    /// all there.
    fn scan_value(&mut self) -> Result<bool, NotResp> {
        let Some((line, end)) = line_at(&self.bytes, self.scanned) else {
            // An endless line is none.
            return match self.bytes.get(self.scanned) {
                Some(&first) if !may_begin(first) => Err(NotResp(first.into())),
                _ => Ok(false),
            };
        };
        let Some((&kind, length)) = line.split_first() else {
            // An empty line: a replica's sign of life.
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
                    // Attributes come before the value which they describe.
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

/// The line that begins here, without its end, and where the next one begins.
pub(super) fn line_at(bytes: &[u8], from: usize) -> Option<(&[u8], usize)> {
    let rest = bytes.get(from..)?;
    let length = rest.iter().position(|&it| it == b'\n')?;
    let line = &rest[..length];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Some((line, from + length + 1))
}

/// The length in a header, `None` for the -1 of RESP2's nil.
pub(super) fn number(text: &[u8]) -> Option<usize> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The marks of RESP, the letters of inline commands, and an empty line.
fn may_begin(first: u8) -> bool {
    b"+-:$*_#,(!=%~>|\r\n".contains(&first) || first.is_ascii_alphabetic()
}
