//! Finds tests by their names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ItemFn, Macro};

use super::sources;
use crate::error::Error;
use crate::workspace::Workspace;

/// The reason why a name does not belong to a test.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong(pub(super) String);

/// The tests of a workspace. Files are read on demand.
pub(super) struct NamedTests<'a> {
    workspace: &'a Workspace,
    files: HashMap<PathBuf, Names>,
}

/// The names in a file that may be tests.
#[derive(Debug, Default)]
struct Names {
    /// Functions with a test attribute.
    tests: Vec<String>,
    /// Functions without a test attribute.
    others: Vec<String>,
    /// Names in the arguments of a macro, which may generate tests.
    in_macros: Vec<String>,
}

impl<'a> NamedTests<'a> {
    pub(super) fn of(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            files: HashMap::new(),
        }
    }

    /// Finds a test by its name: `crate::binary::module::test`, or `crate::module::test` if it is in the sources.
    pub(super) fn look_up(&mut self, name: &str) -> Result<Result<(), Wrong>, Error> {
        let segments: Vec<&str> = name.split("::").collect();
        let [first, modules @ .., test] = &segments[..] else {
            return Ok(Err(Wrong("is no path to a test".to_owned())));
        };
        let mut members = self.workspace.members.iter();
        let Some(member) = members.find(|it| it.name.replace('-', "_") == *first) else {
            return Ok(Err(Wrong(format!("there is no crate {first}"))));
        };
        let files: Vec<PathBuf> = ["tests", "src"]
            .iter()
            .filter_map(|root| file_of(&member.dir.join(root), modules))
            .collect();
        for file in &files {
            if self.has(file, test)? {
                return Ok(Ok(()));
            }
        }
        let shown: Vec<String> = files.iter().map(|it| self.workspace.shown(it)).collect();
        Ok(Err(Wrong(if shown.is_empty() {
            "there is no such file".to_owned()
        } else {
            format!("there is no such test in {}", shown.join(", "))
        })))
    }

    fn has(&mut self, file: &Path, test: &str) -> Result<bool, Error> {
        let names = self.names(file)?;
        if contains(&names.tests, test) || contains(&names.in_macros, test) {
            return Ok(true);
        }
        if !contains(&names.others, test) {
            return Ok(false);
        }
        // A case of a suite is a function for which a macro in the same folder generates a test.
        let Some(folder) = file.parent() else {
            return Ok(false);
        };
        let macros = folder.join("macros.rs");
        Ok(macros.is_file() && contains(&self.names(&macros)?.in_macros, test))
    }

    fn names(&mut self, file: &Path) -> Result<&Names, Error> {
        if !self.files.contains_key(file) {
            let source = sources::read(self.workspace, file.to_owned())?;
            let parsed = syn::parse_file(&source.text)
                .map_err(|error| sources::not_parsed(&source, error.span(), &error.to_string()))?;
            let mut names = Names::default();
            names.visit_file(&parsed);
            self.files.insert(file.to_owned(), names);
        }
        Ok(self.files.entry(file.to_owned()).or_default())
    }
}

fn contains(names: &[String], name: &str) -> bool {
    names.iter().any(|it| it == name)
}

/// Returns the file under `root` to which the modules lead. The remaining modules are inline in this file.
fn file_of(root: &Path, modules: &[&str]) -> Option<PathBuf> {
    let mut folder = root.to_owned();
    let mut found = None;
    for (depth, module) in modules.iter().enumerate() {
        let mut candidates = vec![
            folder.join(format!("{module}.rs")),
            folder.join(module).join("mod.rs"),
        ];
        if depth == 0 {
            candidates.push(folder.join(module).join("main.rs"));
        }
        let Some(file) = candidates.into_iter().find(|it| it.is_file()) else {
            break;
        };
        found = Some(file);
        folder.push(module);
    }
    found
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        let is_test = item.attrs.iter().any(|attribute| {
            let last = attribute.path().segments.last();
            last.is_some_and(|last| last.ident == "test")
        });
        let names = if is_test {
            &mut self.tests
        } else {
            &mut self.others
        };
        names.push(item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        idents(call.tokens.clone(), &mut self.in_macros);
    }
}

fn idents(tokens: TokenStream, found: &mut Vec<String>) {
    for tree in tokens {
        match tree {
            TokenTree::Ident(name) => found.push(name.to_string()),
            TokenTree::Group(group) => idents(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
