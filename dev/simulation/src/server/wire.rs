//! Parses commands from the bytes of a connection.

use std::ops::Range;

/// The error for bytes that are not a command.
#[derive(Debug, thiserror::Error)]
#[error("what came is no command that this server reads")]
pub(super) struct NoCommand;

/// Removes and returns the next command. Returns `None` if it is incomplete.
pub(super) fn take_command(come: &mut Vec<u8>) -> Result<Option<Vec<String>>, NoCommand> {
    let Some((count, mut at)) = header(come, 0, b'*')? else {
        return Ok(None);
    };
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let Some((length, begin)) = header(come, at, b'$')? else {
            return Ok(None);
        };
        let Some(word) = come.get(begin..begin + length) else {
            return Ok(None);
        };
        words.push(String::from_utf8(word.to_vec()).map_err(|_| NoCommand)?);
        at = begin + length + 2;
    }
    if at > come.len() {
        return Ok(None);
    }
    come.drain(..at);
    Ok(Some(words))
}

/// Returns the number in a line that begins with `kind`, and the start of the next line.
fn header(come: &[u8], at: usize, kind: u8) -> Result<Option<(usize, usize)>, NoCommand> {
    let Some(Range { start, end }) = line(come, at) else {
        return Ok(None);
    };
    let Some((first, number)) = come[start..end].split_first() else {
        return Err(NoCommand);
    };
    let number = std::str::from_utf8(number)
        .ok()
        .and_then(|it| it.parse().ok());
    match number {
        Some(number) if *first == kind => Ok(Some((number, end + 2))),
        _ => Err(NoCommand),
    }
}

fn line(come: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = come.get(at..)?;
    let length = rest.windows(2).position(|it| it == b"\r\n")?;
    Some(at..at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_that_arrive_byte_by_byte_are_parsed() {
        let sent = b"*2\r\n$3\r\nGET\r\n$4\r\na\r\nb\r\n*1\r\n$4\r\nPING\r\n";
        let (mut come, mut taken) = (Vec::new(), Vec::new());
        for byte in sent {
            come.push(*byte);
            taken.extend(take_command(&mut come).unwrap());
        }
        assert_eq!(taken, [vec!["GET", "a\r\nb"], vec!["PING"]]);
        assert!(come.is_empty());
        assert!(take_command(&mut b"GET a\r\n".to_vec()).is_err());
    }
}
