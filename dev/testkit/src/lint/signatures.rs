//! Finds the crates that the public signatures of a file name.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Block, Expr, Fields, File, GenericArgument, ImplItem, Item, ItemImpl, ItemTrait,
    Path, PathArguments, Type, Visibility,
};

use super::imports;
use super::syntax::{item_name, test_only};

/// A crate that a signature names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    pub(super) name: String,
    pub(super) line: usize,
}

/// Returns the names of the public types and traits.
pub(super) fn public_types(file: &File) -> Vec<String> {
    let mut found = Vec::new();
    types(&file.items, &mut found);
    found
}

fn types(items: &[Item], found: &mut Vec<String>) {
    for item in items {
        match item {
            Item::Mod(it) => {
                if let Some((_, items)) = &it.content {
                    types(items, found);
                }
            }
            Item::Macro(it) => declared(&it.mac.tokens, found),
            Item::Enum(_) | Item::Struct(_) | Item::Trait(_) | Item::Union(_)
                if is_public(visibility(item)) =>
            {
                found.extend(item_name(item).map(ToString::to_string));
            }
            _ => {}
        }
    }
}

/// Finds types in the arguments of a macro: `pub struct Name`.
fn declared(tokens: &TokenStream, found: &mut Vec<String>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    for window in trees.windows(3) {
        if let [
            TokenTree::Ident(one),
            TokenTree::Ident(two),
            TokenTree::Ident(name),
        ] = window
            && one == "pub"
            && (two == "struct" || two == "enum")
        {
            found.push(name.to_string());
        }
    }
}

/// Returns the dependencies that the public signatures of the file name.
pub(super) fn foreign(
    file: &File,
    types: &BTreeSet<String>,
    dependencies: &BTreeSet<String>,
) -> Vec<Shown> {
    let mut reader = Reader {
        types,
        dependencies,
        imported: BTreeMap::new(),
        found: Vec::new(),
    };
    reader.items(&file.items);
    reader.found
}

struct Reader<'a> {
    types: &'a BTreeSet<String>,
    dependencies: &'a BTreeSet<String>,
    /// The imported names in this file, with their crates.
    imported: BTreeMap<String, String>,
    found: Vec<Shown>,
}

fn visibility(item: &Item) -> Option<&Visibility> {
    Some(match item {
        Item::Const(it) => &it.vis,
        Item::Enum(it) => &it.vis,
        Item::Fn(it) => &it.vis,
        Item::Static(it) => &it.vis,
        Item::Struct(it) => &it.vis,
        Item::Trait(it) => &it.vis,
        Item::Type(it) => &it.vis,
        Item::Union(it) => &it.vis,
        Item::Use(it) => &it.vis,
        _ => return None,
    })
}

fn is_public(visibility: Option<&Visibility>) -> bool {
    matches!(visibility, Some(Visibility::Public(_)))
}

impl Reader<'_> {
    fn items(&mut self, items: &[Item]) {
        for item in items {
            if let Item::Use(it) = item {
                for leaf in imports::leaves(&it.tree) {
                    let first = leaf.path.first().cloned().unwrap_or_default();
                    if self.dependencies.contains(&first) {
                        if is_public(Some(&it.vis)) {
                            self.show(&first, it.span().start().line);
                        }
                        if let Some(name) = leaf.bound {
                            self.imported.insert(name, first);
                        }
                    }
                }
            }
        }
        for item in items {
            self.item(item);
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Mod(it) if !test_only(&it.attrs) => {
                if let Some((_, items)) = &it.content {
                    self.items(items);
                }
            }
            Item::Impl(it) => self.implementation(it),
            Item::Trait(it) if is_public(Some(&it.vis)) => self.public_trait(it),
            Item::Struct(it) if is_public(Some(&it.vis)) => {
                self.visit_generics(&it.generics);
                self.fields(&it.fields, true);
            }
            Item::Enum(it) if is_public(Some(&it.vis)) => {
                self.visit_generics(&it.generics);
                for variant in &it.variants {
                    self.fields(&variant.fields, false);
                }
            }
            Item::Fn(it) if is_public(Some(&it.vis)) => self.visit_signature(&it.sig),
            Item::Const(_) | Item::Static(_) | Item::Type(_) if is_public(visibility(item)) => {
                visit::visit_item(self, item);
            }
            _ => {}
        }
    }

    fn fields(&mut self, fields: &Fields, by_visibility: bool) {
        for field in fields {
            if !by_visibility || is_public(Some(&field.vis)) {
                self.visit_type(&field.ty);
            }
        }
    }

    fn public_trait(&mut self, item: &ItemTrait) {
        self.visit_generics(&item.generics);
        for bound in &item.supertraits {
            self.visit_type_param_bound(bound);
        }
        for item in &item.items {
            self.visit_trait_item(item);
        }
    }

    fn implementation(&mut self, item: &ItemImpl) {
        let Type::Path(of) = &*item.self_ty else {
            return;
        };
        if !self.is_ours(&of.path) {
            // An implementation such as `impl From<Ours> for theirs::Type`.
            let implemented = item.trait_.as_ref().map(|(path, _)| path);
            if implemented.is_some_and(|path| self.is_about_ours(path)) {
                self.visit_type(&item.self_ty);
            }
            return;
        }
        self.visit_generics(&item.generics);
        if let Some((implemented, _)) = &item.trait_ {
            self.visit_path(implemented);
        }
        for part in &item.items {
            match part {
                // The signatures of trait methods are those of the trait.
                ImplItem::Fn(it) if item.trait_.is_none() && is_public(Some(&it.vis)) => {
                    self.visit_signature(&it.sig);
                }
                ImplItem::Const(it) if is_public(Some(&it.vis)) => self.visit_type(&it.ty),
                ImplItem::Type(it) => self.visit_type(&it.ty),
                _ => {}
            }
        }
    }

    /// Returns whether it is the path of a public type of this crate.
    fn is_ours(&self, path: &Path) -> bool {
        let last = path.segments.last();
        last.is_some_and(|last| self.types.contains(&last.ident.to_string()))
    }

    fn is_about_ours(&self, implemented: &Path) -> bool {
        let last = implemented.segments.last();
        let Some(PathArguments::AngleBracketed(arguments)) = last.map(|it| &it.arguments) else {
            return false;
        };
        arguments.args.iter().any(|argument| {
            matches!(argument, GenericArgument::Type(Type::Path(of)) if self.is_ours(&of.path))
        })
    }

    fn show(&mut self, name: &str, line: usize) {
        self.found.push(Shown {
            name: name.to_owned(),
            line,
        });
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_path(&mut self, path: &'ast Path) {
        if let Some(first) = path.segments.first() {
            let name = first.ident.to_string();
            let line = first.ident.span().start().line;
            if let Some(from) = self.imported.get(&name).cloned() {
                self.show(&from, line);
            } else if path.segments.len() > 1 && self.dependencies.contains(&name) {
                self.show(&name, line);
            }
        }
        visit::visit_path(self, path);
    }

    // Bodies and attributes are not part of a signature.
    fn visit_block(&mut self, _: &'ast Block) {}

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_expr(&mut self, _: &'ast Expr) {}
}
