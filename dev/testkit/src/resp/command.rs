//! A message to the server.

use std::fmt;

use super::value::Value;

/// A command and its arguments.
#[derive(Clone, PartialEq, Eq)]
pub struct Command {
    words: Vec<Vec<u8>>,
}

impl Command {
    /// Creates a command of these words: `["SET", "key", "value"]`.
    #[must_use]
    pub fn new<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Self {
        let words = words.into_iter().map(|word| word.as_ref().to_vec());
        Self {
            words: words.collect(),
        }
    }

    /// Parses a message of a client. An invalid message has no words.
    #[must_use]
    pub fn read(frame: &[u8]) -> Self {
        let words = match Value::read(frame) {
            Some(Value::Array(items)) => items.into_iter().filter_map(text).collect(),
            Some(_) => Vec::new(),
            // An inline command.
            None => words_of(frame),
        };
        Self { words }
    }

    /// Returns whether the command has this name, in any case: `is("EVALSHA")`.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        self.words
            .first()
            .is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Returns whether the command contains this word: a key, or the hash of a script.
    #[must_use]
    pub fn mentions(&self, word: impl AsRef<[u8]>) -> bool {
        self.words.iter().any(|it| it == word.as_ref())
    }

    /// Returns the words, starting with the name.
    #[must_use]
    pub fn words(&self) -> &[Vec<u8>] {
        &self.words
    }

    /// Returns the bytes to send.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", self.words.len()).into_bytes();
        for word in &self.words {
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }
}

/// Formats the command as a user would type it.
impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = self.words.iter().map(|it| String::from_utf8_lossy(it));
        f.write_str(&words.collect::<Vec<_>>().join(" "))
    }
}

fn text(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::Text(bytes) => Some(bytes),
        _ => None,
    }
}

fn words_of(line: &[u8]) -> Vec<Vec<u8>> {
    let words = line.split(u8::is_ascii_whitespace);
    let words = words.filter(|it| !it.is_empty() && it[0].is_ascii_graphic());
    words.map(<[u8]>::to_vec).collect()
}
