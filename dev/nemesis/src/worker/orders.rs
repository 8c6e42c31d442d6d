//! What a process is told.

use std::path::PathBuf;

use crate::BoxError;
use crate::data::{Addresses, DataCell};
use crate::deployment::Locks;

/// What a process is told when it is started.
#[derive(Debug, Clone)]
pub struct Orders {
    /// Where its locks are.
    pub locks: Locks,
    /// Whose data it changes.
    pub cell: DataCell,
    /// How many tasks it has for each store.
    pub tasks: usize,
    /// Where it notes what it does: this with `holds` and `changes` behind it.
    pub file: PathBuf,
    /// The stores, and where they are.
    pub stores: Vec<(String, String)>,
}

impl Orders {
    /// For stores at these addresses.
    #[must_use]
    pub fn new(locks: Locks, cell: DataCell, tasks: usize, stores: &Addresses) -> Self {
        let stores = stores.0.iter();
        Self {
            locks,
            cell,
            tasks,
            file: PathBuf::new(),
            stores: stores
                .map(|(kind, at)| ((*kind).to_owned(), at.clone()))
                .collect(),
        }
    }

    /// As arguments of a process.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        let mut words = vec![
            self.locks.to_string(),
            self.cell.0.to_string(),
            self.tasks.to_string(),
            self.file.display().to_string(),
        ];
        for (kind, address) in &self.stores {
            words.push(format!("{kind}={address}"));
        }
        words
    }

    /// Of the arguments of a process.
    ///
    /// # Errors
    ///
    /// If they are not what [`words`](Self::words) makes.
    pub fn read(words: &[String]) -> Result<Self, BoxError> {
        let [locks, cell, tasks, file, stores @ ..] = words else {
            return Err("a worker is told locks, cell, tasks, file, and stores".into());
        };
        let store = |it: &String| {
            let pair = it.split_once('=');
            let (kind, address) = pair.ok_or_else(|| format!("`{it}` is no KIND=ADDRESS"))?;
            Ok((kind.to_owned(), address.to_owned()))
        };
        Ok(Self {
            locks: locks.parse()?,
            cell: DataCell(cell.parse()?),
            tasks: tasks.parse()?,
            file: PathBuf::from(file),
            stores: stores.iter().map(store).collect::<Result<_, BoxError>>()?,
        })
    }
}
