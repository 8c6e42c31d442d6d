//! A graph of dependencies between modules, and its cycles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::map::Place;

/// The dependencies, each with a `file:line` that contains it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    arrows: BTreeMap<Place, BTreeMap<Place, String>>,
}

impl Graph {
    /// Adds an arrow. Only its first position is stored.
    pub(super) fn add(&mut self, from: Place, to: Place, site: &str) {
        let targets = self.arrows.entry(from).or_default();
        targets.entry(to).or_insert_with(|| site.to_owned());
    }

    /// Returns the number of arrows.
    pub(super) fn len(&self) -> usize {
        self.arrows.values().map(BTreeMap::len).sum()
    }

    /// Returns cycles: the shortest one through each module that is on a cycle, but not on an earlier one of the
    /// result. In each list the last module is also the first.
    pub(super) fn circles(&self) -> Vec<Vec<Place>> {
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for room in self.arrows.keys() {
            if seen.contains(room) {
                continue;
            }
            if let Some(circle) = self.way_back(room) {
                seen.extend(circle.iter().cloned());
                circles.push(circle);
            }
        }
        circles
    }

    /// Returns the position of an arrow.
    pub(super) fn site(&self, from: &Place, to: &Place) -> &str {
        let site = self.arrows.get(from).and_then(|targets| targets.get(to));
        site.map_or("", String::as_str)
    }

    /// Returns the shortest path from a module back to itself, with a breadth-first search.
    fn way_back(&self, room: &Place) -> Option<Vec<Place>> {
        let mut came_from: BTreeMap<&Place, &Place> = BTreeMap::new();
        let mut queue = VecDeque::from([room]);
        while let Some(at) = queue.pop_front() {
            for next in self.arrows.get(at).into_iter().flat_map(BTreeMap::keys) {
                if next == room {
                    return Some(trace(room, at, &came_from));
                }
                if !came_from.contains_key(next) {
                    came_from.insert(next, at);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

fn trace(room: &Place, last: &Place, came_from: &BTreeMap<&Place, &Place>) -> Vec<Place> {
    let mut circle = vec![room.clone()];
    let mut at = last;
    while at != room {
        circle.push(at.clone());
        match came_from.get(at) {
            Some(before) => at = before,
            None => break,
        }
    }
    circle.push(room.clone());
    circle.reverse();
    circle
}
