//! Checks which other crates a published crate shows in its API. Only the crates in its manifest are allowed.
//!
//! A type of another crate in a public signature couples the versions of both crates. So
//! `package.metadata.public-dependencies` lists these crates, each with the reason. The check finds signatures, fields,
//! bounds, re-exports and implemented traits as they are written, but not the output of macros. The lint
//! `unreachable_pub` ensures that `pub` means public.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use toml::{Table, Value};

use super::Verdict;
use super::signatures::{self, Shown};
use super::sources;
use crate::error::Error;
use crate::workspace::{Member, Workspace};

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    for member in workspace.members.iter().filter(|it| it.publishable) {
        let manifest = match read(member)? {
            Ok(manifest) => manifest,
            Err(why) => {
                let file = workspace.shown(&member.dir.join("Cargo.toml"));
                verdict.faults.push(format!("{file}: {why}"));
                continue;
            }
        };
        let mut others = dependencies(&manifest);
        // Crates of the same workspace are released together, so they do not count.
        for member in &workspace.members {
            others.remove(&member.name.replace('-', "_"));
        }
        let shown = shown(workspace, member, &others)?;
        let said = said(&manifest);
        let names: Vec<&str> = shown.keys().map(String::as_str).collect();
        verdict.notes.push(match names.as_slice() {
            [] => format!("{}: none", member.name),
            names => format!("{}: {}", member.name, names.join(", ")),
        });
        verdict.faults.extend(differences(member, &shown, &said));
    }
    Ok(verdict)
}

pub(super) fn read(member: &Member) -> Result<Result<Table, String>, Error> {
    let path = member.dir.join("Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|source| Error::Read { path, source })?;
    Ok(text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string()))
}

/// Returns the names of a crate's dependencies in its code, without dev-dependencies.
pub(super) fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let table = |of: &Table| of.get("dependencies").and_then(Value::as_table).cloned();
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flat_map(Table::values);
    let tables = targets
        .filter_map(Value::as_table)
        .chain([manifest])
        .filter_map(table);
    let names = tables.flat_map(|table| table.keys().cloned().collect::<Vec<_>>());
    names.map(|name| name.replace('-', "_")).collect()
}

fn said(manifest: &Table) -> BTreeSet<String> {
    let metadata = manifest.get("package").and_then(|it| it.get("metadata"));
    let listed = metadata.and_then(|it| it.get("public-dependencies"));
    let listed = listed.and_then(Value::as_table).into_iter();
    let names = listed.flat_map(Table::keys);
    names.map(|name| name.replace('-', "_")).collect()
}

/// Returns each shown crate, with its first position.
fn shown(
    workspace: &Workspace,
    member: &Member,
    dependencies: &BTreeSet<String>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut files = Vec::new();
    for source in sources::under(workspace, &member.dir.join("src"))? {
        let file = syn::parse_file(&source.text)
            .map_err(|error| sources::not_parsed(&source, error.span(), &error.to_string()))?;
        files.push((source.shown, file));
    }
    let types = files
        .iter()
        .flat_map(|(_, file)| signatures::public_types(file))
        .collect();
    let mut all = BTreeMap::new();
    for (place, file) in &files {
        for Shown { name, line } in signatures::foreign(file, &types, dependencies) {
            all.entry(name).or_insert_with(|| format!("{place}:{line}"));
        }
    }
    Ok(all)
}

fn differences(
    member: &Member,
    shown: &BTreeMap<String, String>,
    said: &BTreeSet<String>,
) -> Vec<String> {
    let name = &member.name;
    let unsaid = shown.iter().filter(|(it, _)| !said.contains(*it));
    let unsaid = unsaid.map(|(it, place)| {
        format!("{place}: {name} shows {it}, which its public-dependencies do not name")
    });
    let unshown = said.iter().filter(|it| !shown.contains_key(*it));
    let unshown = unshown.map(|it| format!("{name} names {it}, and does not show it"));
    unsaid.chain(unshown).collect()
}
