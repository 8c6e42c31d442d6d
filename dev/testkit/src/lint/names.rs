//! Checks that names use the terms of the field.

use proc_macro2::Ident;
use syn::visit::{self, Visit};

use super::{Verdict, sources};
use crate::error::Error;
use crate::workspace::Workspace;

/// The words that the name of a module, type or function must not contain, in singular or plural.
const METAPHORS: &str = "atlas ballot bell canary census companion crew crowd debt desk door doubt drawer ear \
    errand fleet giver grip guardian haste house inbox paper porch pursuit room rota scene scribe seat ship sight \
    stage steward wheel whereabouts";

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let sources = sources::of_workspace(workspace)?;
    for source in &sources {
        let file = syn::parse_file(&source.text)
            .map_err(|error| sources::not_parsed(source, error.span(), &error.to_string()))?;
        let mut names = Names::default();
        names.visit_file(&file);
        let segments = source.shown.trim_end_matches(".rs").split('/').skip(1);
        let mut found: Vec<(usize, String)> = names.0;
        found.extend(segments.map(|it| (1, it.to_owned())));
        for (line, name) in found {
            if let Some(metaphor) = metaphor_in(&name) {
                let why = format!("`{name}` has the metaphor `{metaphor}`");
                verdict
                    .faults
                    .push(format!("{}:{line}: {why}", source.shown));
            }
        }
    }
    verdict.notes.push(format!("{} files read", sources.len()));
    Ok(verdict)
}

/// The names of modules, types and functions, each with its line.
#[derive(Default)]
struct Names(Vec<(usize, String)>);

impl Names {
    fn add(&mut self, name: &Ident) {
        self.0.push((name.span().start().line, name.to_string()));
    }
}

impl<'a> Visit<'a> for Names {
    fn visit_item(&mut self, item: &'a syn::Item) {
        match item {
            syn::Item::Enum(it) => self.add(&it.ident),
            syn::Item::Mod(it) => self.add(&it.ident),
            syn::Item::Struct(it) => self.add(&it.ident),
            syn::Item::Trait(it) => self.add(&it.ident),
            syn::Item::Type(it) => self.add(&it.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        self.add(&signature.ident);
    }
}

/// Returns the metaphor in a name such as `InboxOfTests` or `inbox_of_tests`.
fn metaphor_in(name: &str) -> Option<&'static str> {
    let mut spaced = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() {
            spaced.push('_');
        }
        spaced.extend(letter.to_lowercase());
    }
    let mut words = spaced.split('_');
    words.find_map(|word| {
        let is_one = |it: &&'static str| word == *it || word.strip_suffix('s') == Some(it);
        METAPHORS.split_whitespace().find(is_one)
    })
}
