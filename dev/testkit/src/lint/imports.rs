//! The paths in a `use` statement.

use proc_macro2::Ident;
use syn::UseTree;

/// One path of a `use` statement.
#[derive(Debug)]
pub(super) struct Leaf {
    /// The path, without `*`.
    pub(super) path: Vec<String>,
    /// The imported name, or `None` for `*`.
    pub(super) bound: Option<String>,
    pub(super) line: usize,
}

/// Returns every path of a tree: two for `use a::{b, c as d}`.
pub(super) fn leaves(tree: &UseTree) -> Vec<Leaf> {
    let mut found = Vec::new();
    collect(tree, Vec::new(), &mut found);
    found
}

fn collect(tree: &UseTree, mut path: Vec<String>, found: &mut Vec<Leaf>) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            collect(&part.tree, path, found);
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                collect(tree, path.clone(), found);
            }
        }
        UseTree::Glob(glob) => found.push(Leaf {
            path,
            bound: None,
            line: glob.star_token.span.start().line,
        }),
        UseTree::Name(leaf) => found.push(named(path, &leaf.ident, &leaf.ident)),
        UseTree::Rename(leaf) => found.push(named(path, &leaf.ident, &leaf.rename)),
    }
}

fn named(mut path: Vec<String>, name: &Ident, bound: &Ident) -> Leaf {
    // `use a::{self}` means `use a`.
    if name != "self" || path.is_empty() {
        path.push(name.to_string());
    }
    let bound = match path.last() {
        Some(last) if bound == "self" => last.clone(),
        _ => bound.to_string(),
    };
    Leaf {
        path,
        bound: Some(bound),
        line: name.span().start().line,
    }
}
