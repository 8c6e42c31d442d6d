//! Checks that source files contain no unfinished code.
//!
//! The check reads tokens instead of text. So a word in a comment or a string is ignored, and one in the arguments of a
//! macro is found.

use proc_macro2::{TokenStream, TokenTree};

use super::Verdict;
use super::sources;
use crate::error::Error;
use crate::workspace::Workspace;

const LEFTOVERS: [&str; 3] = ["dbg", "todo", "unimplemented"];

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let sources = sources::of_workspace(workspace)?;
    for source in &sources {
        let tokens: TokenStream = source
            .text
            .parse()
            .map_err(|error: proc_macro2::LexError| {
                sources::not_parsed(source, error.span(), &error.to_string())
            })?;
        for (line, name) in find(tokens) {
            verdict
                .faults
                .push(format!("{}:{line}: `{name}!` is left", source.shown));
        }
    }
    verdict.notes.push(format!("{} files read", sources.len()));
    Ok(verdict)
}

/// Returns the calls of the leftover macros: a name, `!`, and arguments.
fn find(tokens: TokenStream) -> Vec<(usize, String)> {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut found = Vec::new();
    for (at, tree) in trees.iter().enumerate() {
        match tree {
            TokenTree::Group(group) => found.extend(find(group.stream())),
            TokenTree::Ident(name) if is_call(&trees[at + 1..]) => {
                let name_text = name.to_string();
                if LEFTOVERS.contains(&name_text.as_str()) {
                    found.push((name.span().start().line, name_text));
                }
            }
            _ => {}
        }
    }
    found
}

fn is_call(after: &[TokenTree]) -> bool {
    matches!(
        after,
        [TokenTree::Punct(mark), TokenTree::Group(_), ..] if mark.as_char() == '!'
    )
}
