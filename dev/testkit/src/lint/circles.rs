//! Checks that modules do not depend on each other in a cycle.
//!
//! The top-level modules are checked with each other. Then the files of each folder are checked with each other and
//! with the folder's root file. `lib.rs` and the `mod` and `pub use` statements of root files are ignored.

use std::path::Path;

use super::Verdict;
use super::graph::Graph;
use super::map::{CrateMap, Mention, Place, Role};
use super::resolve::{Target, Touch, targets};
use super::{reader, sources};
use crate::error::Error;
use crate::workspace::{Library, Workspace};

pub(super) fn check(workspace: &Workspace) -> Result<Verdict, Error> {
    let mut verdict = Verdict::default();
    for member in &workspace.members {
        if let Some(library) = &member.lib_target {
            let map = read(workspace, library)?;
            judge(&map, &member.name, &mut verdict);
        }
    }
    Ok(verdict)
}

fn read(workspace: &Workspace, library: &Library) -> Result<CrateMap, Error> {
    let mut map = CrateMap {
        name: library.name.clone(),
        ..CrateMap::default()
    };
    let dir = library.root.parent().unwrap_or(&library.root);
    for source in sources::under(workspace, dir)? {
        if let Some(place) = place_of(&source.path, dir) {
            let file = syn::parse_file(&source.text)
                .map_err(|error| sources::not_parsed(&source, error.span(), &error.to_string()))?;
            reader::read(&mut map, &file, place, &source.shown);
        }
    }
    map.drop_tests();
    Ok(map)
}

/// Returns the module of a file, or `None` for a program.
fn place_of(path: &Path, dir: &Path) -> Option<Place> {
    let inner = path.strip_prefix(dir).ok()?.with_extension("");
    let mut place: Place = inner
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = place.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["main"] | ["bin", ..] => return None,
        ["lib"] | [.., "mod"] => {
            place.pop();
        }
        _ => {}
    }
    Some(place)
}

fn judge(map: &CrateMap, name: &str, verdict: &mut Verdict) {
    let graph = graph(map);
    let files = map.modules.iter().filter(|(place, it)| **place == it.file);
    verdict.notes.push(format!(
        "{name}: {} modules, {} arrows between neighbours",
        files.count(),
        graph.len()
    ));
    verdict.faults.extend(map.odd.iter().cloned());
    for circle in graph.circles() {
        let names: Vec<String> = circle.iter().map(|room| room.join("::")).collect();
        verdict
            .faults
            .push(format!("{name}: circle {}", names.join(" -> ")));
        for (pair, sides) in circle.windows(2).zip(names.windows(2)) {
            let site = graph.site(&pair[0], &pair[1]);
            verdict
                .faults
                .push(format!("    {}: {site}", sides.join(" -> ")));
        }
    }
}

/// Returns the arrows between neighbours. An arrow from `a::b` to `a::c::d` becomes one from `a::b` to `a::c`. An arrow
/// from `a::b` to an item that `a` itself defines becomes one to `a`.
fn graph(map: &CrateMap) -> Graph {
    let mut graph = Graph::default();
    for mention in &map.mentions {
        let from = map.file_of(&mention.module);
        for target in targets(map, &mention.module, &mention.segments) {
            let to = map.file_of(&target.place);
            if counts(map, mention, &target, &from, &to) {
                let shared = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
                let neighbour = |place: &Place| place[..place.len().min(shared + 1)].to_vec();
                graph.add(neighbour(&from), neighbour(&to), &mention.site);
            }
        }
    }
    graph
}

/// Returns whether a mention makes one file depend on another.
fn counts(map: &CrateMap, mention: &Mention, target: &Target, from: &Place, to: &Place) -> bool {
    if from.is_empty() || to.is_empty() || from == to {
        return false;
    }
    if mention.role == Role::Export && to.starts_with(from) {
        return false;
    }
    // A path through a parent module, or the name of a parent, is not a dependency on its items. `use super::*` is one,
    // if the parent defines items.
    let parent_defines = || {
        let module = map.modules.get(to);
        mention.role != Role::Use && module.is_some_and(|it| !it.items.is_empty())
    };
    match target.touch {
        Touch::Item => true,
        Touch::Passage => !from.starts_with(to),
        Touch::Module => !from.starts_with(to) || parent_defines(),
    }
}
