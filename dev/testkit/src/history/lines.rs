//! JSON files with one value per line.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::HistoryError;

/// Appends values to a file. Each value is written immediately, so a kill does not lose a written value.
#[derive(Debug)]
pub struct JsonLines(File, PathBuf);

impl JsonLines {
    /// Opens a file. Several processes may use the same file or separate ones.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError::File`] if it cannot be opened.
    pub fn to_file(path: &Path) -> Result<Self, HistoryError> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|source| HistoryError::file(path, source))?;
        Ok(Self(file, path.to_owned()))
    }

    /// Writes a value.
    ///
    /// # Errors
    ///
    /// Returns [`HistoryError::File`] if it cannot be written.
    pub fn write(&mut self, value: &impl Serialize) -> Result<(), HistoryError> {
        let line = serde_json::to_string(value).map_err(io::Error::other);
        // One write call, so that lines of several processes do not mix.
        let written = line.and_then(|line| self.0.write_all((line + "\n").as_bytes()));
        written.map_err(|source| HistoryError::file(&self.1, source))
    }
}

/// Reads the files of several processes. An incomplete last line, which a killed process may leave, is ignored.
///
/// # Errors
///
/// Returns [`HistoryError`] if a file cannot be read, or contains an invalid line.
pub fn read_lines<T: DeserializeOwned, P: AsRef<Path>>(
    files: impl IntoIterator<Item = P>,
) -> Result<Vec<T>, HistoryError> {
    let mut values = Vec::new();
    for path in files {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| HistoryError::file(path, source))?;
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines() {
            let value = serde_json::from_str(line);
            values.push(value.map_err(|_| HistoryError::Line(line.to_owned()))?);
        }
    }
    Ok(values)
}
