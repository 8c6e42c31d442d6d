//! Finds paths in token streams that syn does not parse: the arguments of macros and attributes.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// A path in the code, with the line of its start.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) segments: Vec<String>,
    pub(super) line: usize,
}

/// Returns every `a::b…` in the tokens, and `a::{b, c::d}` as `a::b` and `a::c::d`. `$crate` becomes `crate`.
pub(super) fn paths(tokens: TokenStream) -> Vec<Found> {
    let mut found = Vec::new();
    scan(tokens, &[], &mut found);
    found
}

fn scan(tokens: TokenStream, prefix: &[String], found: &mut Vec<Found>) {
    let trees: Vec<TokenTree> = tokens.into_iter().collect();
    let mut rest = trees.as_slice();
    while let Some((first, after)) = rest.split_first() {
        rest = match first {
            TokenTree::Ident(_) => path(rest, prefix, found),
            TokenTree::Group(group) => {
                scan(group.stream(), &[], found);
                after
            }
            _ => after,
        };
    }
}

/// Parses one path at the beginning of the tokens, and returns the remaining tokens.
fn path<'a>(trees: &'a [TokenTree], prefix: &[String], found: &mut Vec<Found>) -> &'a [TokenTree] {
    let mut segments = prefix.to_vec();
    let mut rest = trees;
    let mut line = 0;
    while let [TokenTree::Ident(name), after @ ..] = rest {
        segments.push(name.to_string());
        if line == 0 {
            line = name.span().start().line;
        }
        rest = after;
        let Some(after) = past_colons(rest) else {
            break;
        };
        if let [TokenTree::Group(group), after @ ..] = after
            && group.delimiter() == Delimiter::Brace
        {
            scan(group.stream(), &segments, found);
            return after;
        }
        rest = after;
    }
    if segments.len() > 1 {
        found.push(Found { segments, line });
    }
    rest
}

fn past_colons(trees: &[TokenTree]) -> Option<&[TokenTree]> {
    match trees {
        [TokenTree::Punct(one), TokenTree::Punct(two), rest @ ..]
            if one.as_char() == ':' && two.as_char() == ':' =>
        {
            Some(rest)
        }
        _ => None,
    }
}
