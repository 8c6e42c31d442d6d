//! Checks which published crates of the workspace each published crate depends on and imports.
//!
//! The lock must not know its backends, and no backend another one. So that one of them can be built, tested and
//! understood without the others, [`ALLOWED`] lists all arrows between the published crates.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};

use super::sources::{self, not_parsed};
use super::{Verdict, api};
use crate::error::Error;
use crate::workspace::{Member, Workspace};

/// Each published crate, and the published crates that it may depend on.
pub const ALLOWED: [(&str, &[&str]); 10] = [
    (
        "leasehold",
        &[
            "leasehold-core",
            "leasehold-redis",
            "leasehold-sql",
            "leasehold-test",
            "leasehold-zookeeper",
        ],
    ),
    ("leasehold-cli", &["leasehold"]),
    ("leasehold-core", &["leasehold-macros"]),
    ("leasehold-macros", &[]),
    ("leasehold-redis", &["leasehold-core"]),
    ("leasehold-sql", &["leasehold-core"]),
    ("leasehold-sqlx", &["leasehold-core", "leasehold-sql"]),
    ("leasehold-test", &["leasehold-core"]),
    ("leasehold-tower", &["leasehold-core", "leasehold-sqlx"]),
    ("leasehold-zookeeper", &["leasehold-core"]),
];

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    let published: Vec<&Member> = workspace
        .members
        .iter()
        .filter(|it| it.publishable)
        .collect();
    let names: BTreeSet<String> = published.iter().map(|it| in_code(&it.name)).collect();
    for member in published {
        let manifest = workspace.shown(&member.dir.join("Cargo.toml"));
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == member.name) else {
            let unknown = format!("{manifest}: `{}` is not in the list of crates", member.name);
            verdict.faults.push(unknown);
            continue;
        };
        let allowed: BTreeSet<String> = allowed.iter().map(|it| in_code(it)).collect();
        let is_forbidden = |name: &String| names.contains(name) && !allowed.contains(name);
        match api::read(member)? {
            Ok(table) => {
                let forbidden = api::dependencies(&table).into_iter().filter(is_forbidden);
                let faults = forbidden
                    .map(|it| format!("{manifest}: `{}` must not depend on `{it}`", member.name));
                verdict.faults.extend(faults);
            }
            Err(why) => verdict.faults.push(format!("{manifest}: {why}")),
        }
        for source in sources::under(workspace, &member.dir.join("src"))? {
            let tokens: TokenStream =
                source
                    .text
                    .parse()
                    .map_err(|error: proc_macro2::LexError| {
                        not_parsed(&source, error.span(), &error.to_string())
                    })?;
            let mut mentions = Vec::new();
            collect(tokens, &mut mentions);
            let forbidden = mentions.into_iter().filter(|(name, _)| is_forbidden(name));
            let faults = forbidden.map(|(name, line)| {
                let place = format!("{}:{line}", source.shown);
                format!("{place}: `{}` must not import `{name}`", member.name)
            });
            verdict.faults.extend(faults);
        }
        verdict
            .notes
            .push(format!("{}: {}", member.name, shown(&allowed)));
    }
    Ok(verdict)
}

fn shown(allowed: &BTreeSet<String>) -> String {
    match allowed.is_empty() {
        true => "none".to_owned(),
        false => allowed.iter().cloned().collect::<Vec<_>>().join(", "),
    }
}

/// Returns the name of a crate in code.
fn in_code(name: &str) -> String {
    name.replace('-', "_")
}

/// Collects the first name of each path, with its line.
fn collect(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    let mut after_dot = false;
    let mut tokens = tokens.into_iter().peekable();
    while let Some(tree) = tokens.next() {
        match tree {
            TokenTree::Ident(name) => {
                let begins_a_path = match tokens.peek() {
                    Some(TokenTree::Punct(next)) => matches!(next.as_char(), ':' | ';'),
                    Some(TokenTree::Ident(next)) => next == "as",
                    _ => false,
                };
                if begins_a_path && !after_dot {
                    found.push((name.to_string(), name.span().start().line));
                }
            }
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Punct(it) => {
                after_dot = it.as_char() == '.';
                continue;
            }
            TokenTree::Literal(_) => {}
        }
        after_dot = false;
    }
}
