//! The modules of a crate, with the paths that they mention.

use std::collections::{BTreeMap, BTreeSet};

/// The path of a module: `crate::engine::renew` is `["engine", "renew"]`.
pub(super) type Place = Vec<String>;

/// A module, in its own file or inline.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// The module of its file: the module itself unless it is inline.
    pub(super) file: Place,
    /// The names of its items.
    pub(super) items: BTreeSet<String>,
    /// The names that its `use` statements import, with their paths. There are several paths if features choose between
    /// them.
    pub(super) imports: BTreeMap<String, Vec<Vec<String>>>,
    /// The paths of its `use path::*`.
    pub(super) globs: Vec<Vec<String>>,
}

/// A path in the code.
#[derive(Debug)]
pub(super) struct Mention {
    /// The module that contains the path.
    pub(super) module: Place,
    /// The path in the code, without `*`.
    pub(super) segments: Vec<String>,
    /// `file:line`.
    pub(super) site: String,
    pub(super) role: Role,
}

/// The role of a mentioned path.
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
    /// The name of the crate in its own code.
    pub(super) name: String,
    pub(super) modules: BTreeMap<Place, Module>,
    pub(super) mentions: Vec<Mention>,
    /// The modules that only exist in tests.
    pub(super) tests: BTreeSet<Place>,
    /// Descriptions of code that the reader does not support.
    pub(super) odd: Vec<String>,
}

impl CrateMap {
    /// Returns the module at a place, and creates it if it is missing.
    pub(super) fn module(&mut self, place: &Place) -> &mut Module {
        self.modules.entry(place.clone()).or_default()
    }

    /// Returns the module of the file that contains a module, or the root.
    pub(super) fn file_of(&self, place: &Place) -> Place {
        self.modules
            .get(place)
            .map_or_else(Vec::new, |module| module.file.clone())
    }

    /// Removes modules that only exist in tests. Modules in their own files were read before it was known that they are
    /// tests. Their mentions then belong to no file.
    pub(super) fn drop_tests(&mut self) {
        let tests = std::mem::take(&mut self.tests);
        let in_tests = |place: &Place| tests.iter().any(|test| place.starts_with(test));
        self.modules.retain(|place, _| !in_tests(place));
    }
}
