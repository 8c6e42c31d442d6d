//! The modules of a crate, and what each of them mentions.

use std::collections::{BTreeMap, BTreeSet};

/// Where a module stands: `crate::engine::renew` is `["engine", "renew"]`.
pub(super) type Place = Vec<String>;

/// A module, in a file of its own or inline.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The file module it is written in: itself unless it is inline.
    pub(super) file: Place,
    /// The names of what is defined in it.
    pub(super) items: BTreeSet<String>,
    /// The names its `use` statements bring in, with the paths behind them:
    /// more than one where features choose.
    pub(super) imports: BTreeMap<String, Vec<Vec<String>>>,
    /// The paths of its `use path::*`.
    pub(super) globs: Vec<Vec<String>>,
}

/// A path somewhere in the code.
#[derive(Debug)]
pub(super) struct Mention {
    /// The module it is written in.
    pub(super) module: Place,
    /// The path as written, without `*`.
    pub(super) segments: Vec<String>,
    /// `file:line`.
    pub(super) site: String,
    pub(super) role: Role,
}

/// What a mentioned path is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// `use path`, or code.
    Use,
    /// `use path::*`.
    Glob,
    /// `pub use path`, `pub(crate) use path::*`.
    Export,
}

/// A crate.
#[derive(Debug, Default)]
pub(super) struct CrateMap {
    /// The name its own code can be called by.
    pub(super) name: String,
    pub(super) modules: BTreeMap<Place, Module>,
    pub(super) mentions: Vec<Mention>,
    /// Modules which exist in tests only.
    pub(super) tests: BTreeSet<Place>,
    /// What the reader could not make sense of.
    pub(super) odd: Vec<String>,
}

impl CrateMap {
    /// The module at a place, made if it is new.
    pub(super) fn module(&mut self, place: &Place) -> &mut Module {
        self.modules.entry(place.clone()).or_default()
    }

    /// The file module a module is written in: the root if it is in none.
    pub(super) fn file_of(&self, place: &Place) -> Place {
        self.modules
            .get(place)
            .map_or_else(Vec::new, |module| module.file.clone())
    }

    /// Forgets the modules which exist in tests only: those in files of their
    /// own have been read without knowing. What they mention is then in no file.
    pub(super) fn drop_tests(&mut self) {
        let tests = std::mem::take(&mut self.tests);
        let in_tests = |place: &Place| tests.iter().any(|test| place.starts_with(test));
        self.modules.retain(|place, _| !in_tests(place));
    }
}
