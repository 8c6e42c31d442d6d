//! Adds the contents of a file to the [`CrateMap`].

use proc_macro2::{Ident, TokenStream};

use super::imports::Leaf;
use super::map::{CrateMap, Mention, Place, Role};
use super::tokens;

/// Adds the contents of one file.
pub(super) struct Collector<'a> {
    map: &'a mut CrateMap,
    /// The module of the file.
    file: Place,
    /// The current module: that of the file, or an inline one.
    module: Place,
    /// The displayed path of the file.
    shown: &'a str,
}

impl<'a> Collector<'a> {
    /// Begins a file, which is the module at `place`.
    pub(super) fn begin(map: &'a mut CrateMap, place: Place, shown: &'a str) -> Self {
        map.module(&place).file.clone_from(&place);
        Self {
            map,
            file: place.clone(),
            module: place,
            shown,
        }
    }

    /// Enters an inline module, and returns the previous module.
    pub(super) fn enter(&mut self, name: &Ident) -> Place {
        let inner = self.inner(name);
        self.map.module(&inner).file.clone_from(&self.file);
        std::mem::replace(&mut self.module, inner)
    }

    /// Returns to the module that [`enter`](Self::enter) has returned.
    pub(super) fn leave(&mut self, outer: Place) {
        self.module = outer;
    }

    /// Adds a module that only exists in tests.
    pub(super) fn tests(&mut self, name: &Ident) {
        let inner = self.inner(name);
        self.map.tests.insert(inner);
    }

    /// Reports a module whose position is unknown.
    pub(super) fn hidden(&mut self, name: &Ident) {
        let line = name.span().start().line;
        let why = "`#[path]` hides where a module stands; give the file its usual name";
        self.map.odd.push(format!("{}:{line}: {why}", self.shown));
    }

    /// Adds an item.
    pub(super) fn define(&mut self, name: &Ident) {
        let module = self.map.module(&self.module);
        module.items.insert(name.to_string());
    }

    /// Adds a macro that can be called as if the crate's root defined it.
    pub(super) fn export_macro(&mut self, name: &Ident) {
        let mut path = vec!["crate".to_owned()];
        path.extend(self.module.iter().cloned());
        path.push(name.to_string());
        let root = self.map.module(&Vec::new());
        root.imports.entry(name.to_string()).or_default().push(path);
    }

    /// Adds a path of a `use` statement.
    pub(super) fn import(&mut self, leaf: Leaf, public: bool) {
        let module = self.map.module(&self.module);
        let role = if let Some(name) = leaf.bound {
            let paths = module.imports.entry(name).or_default();
            paths.push(leaf.path.clone());
            Role::Use
        } else {
            module.globs.push(leaf.path.clone());
            Role::Glob
        };
        let role = if public { Role::Export } else { role };
        self.mention(leaf.path, leaf.line, role);
    }

    /// Adds a path in the code. A single name is ignored, because only a `use` statement can give it a meaning in
    /// another module.
    pub(super) fn path(&mut self, path: &syn::Path) {
        let names: Vec<&Ident> = path.segments.iter().map(|it| &it.ident).collect();
        if let [first, _, ..] = names.as_slice()
            && (path.leading_colon.is_none() || *first == &self.map.name)
        {
            let segments = names.iter().map(ToString::to_string).collect();
            self.mention(segments, first.span().start().line, Role::Use);
        }
    }

    /// Adds the paths in tokens for whose first name `worth` returns `true`.
    pub(super) fn tokens(&mut self, tokens: &TokenStream, worth: impl Fn(&str) -> bool) {
        for found in tokens::paths(tokens.clone()) {
            if worth(&found.segments[0]) {
                self.mention(found.segments, found.line, Role::Use);
            }
        }
    }

    fn inner(&self, name: &Ident) -> Place {
        let mut place = self.module.clone();
        place.push(name.to_string());
        place
    }

    fn mention(&mut self, segments: Vec<String>, line: usize, role: Role) {
        self.map.mentions.push(Mention {
            module: self.module.clone(),
            segments,
            site: format!("{}:{line}", self.shown),
            role,
        });
    }
}
