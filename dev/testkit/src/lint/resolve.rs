//! Resolves a path to the modules that it touches, including re-exports.

use super::map::{CrateMap, Place};

/// The maximum depth of re-exports of re-exports. Deeper ones are cyclic.
const DEPTH: usize = 8;

/// A module that a path touches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) place: Place,
    pub(super) touch: Touch,
}

/// How a path touches a module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Touch {
    /// The path names an item of the module.
    Item,
    /// The path names the module itself.
    Module,
    /// The path goes through a `use` statement of the module.
    Passage,
}

/// Returns the modules that a path in `module` touches. The result is empty if the path leads out of the crate.
pub(super) fn targets(map: &CrateMap, module: &Place, segments: &[String]) -> Vec<Target> {
    let mut walk = Walk {
        map,
        found: Vec::new(),
    };
    walk.start(module, segments, 0);
    walk.found
}

struct Walk<'a> {
    map: &'a CrateMap,
    found: Vec<Target>,
}

impl Walk<'_> {
    /// Finds the start of the path, then follows it.
    fn start(&mut self, module: &Place, segments: &[String], depth: usize) {
        let Some(first) = segments.first() else {
            return;
        };
        match first.as_str() {
            "crate" => self.follow(Vec::new(), &segments[1..], depth),
            "self" | "super" => {
                let ups = segments.iter().take_while(|it| is_up(it)).count();
                let mut place = module.clone();
                for _ in segments[..ups].iter().filter(|it| *it == "super") {
                    place.pop();
                }
                self.follow(place, &segments[ups..], depth);
            }
            name if self.offers(module, name) => self.follow(module.clone(), segments, depth),
            name if name == self.map.name => self.follow(Vec::new(), &segments[1..], depth),
            _ => {}
        }
    }

    /// Follows a path from the module at `place`, into modules, until it names an item.
    fn follow(&mut self, mut place: Place, segments: &[String], depth: usize) {
        for (at, name) in segments.iter().enumerate() {
            let child = child(&place, name);
            if self.map.modules.contains_key(&child) {
                place = child;
                continue;
            }
            if self.through_import(&place, &segments[at..], depth)
                || self.through_glob(&place, &segments[at..], depth)
            {
                self.touch(place, Touch::Passage);
            } else {
                self.touch(place, Touch::Item);
            }
            return;
        }
        self.touch(place, Touch::Module);
    }

    fn through_import(&mut self, place: &Place, segments: &[String], depth: usize) -> bool {
        let Some(module) = self.map.modules.get(place) else {
            return false;
        };
        let paths = match module.imports.get(&segments[0]) {
            Some(paths) if !module.items.contains(&segments[0]) => paths,
            _ => return false,
        };
        if depth < DEPTH {
            for path in paths {
                let whole: Vec<String> = path.iter().chain(&segments[1..]).cloned().collect();
                self.start(place, &whole, depth + 1);
            }
        }
        true
    }

    fn through_glob(&mut self, place: &Place, segments: &[String], depth: usize) -> bool {
        let Some(module) = self.map.modules.get(place) else {
            return false;
        };
        if depth >= DEPTH || module.items.contains(&segments[0]) {
            return false;
        }
        for glob in &module.globs {
            let mut inner = Walk {
                map: self.map,
                found: Vec::new(),
            };
            inner.start(place, glob, depth + 1);
            for target in inner.found {
                if target.touch == Touch::Module && target.place != *place {
                    if self.offers(&target.place, &segments[0]) {
                        self.follow(target.place, segments, depth + 1);
                        return true;
                    }
                    if self.through_glob(&target.place, segments, depth + 1) {
                        self.touch(target.place, Touch::Passage);
                        return true;
                    }
                }
            }
        }
        false
    }

    /// Returns whether a module contains a name, without globs.
    fn offers(&self, place: &Place, name: &str) -> bool {
        let inside = |module: &super::map::Module| {
            module.items.contains(name) || module.imports.contains_key(name)
        };
        self.map.modules.contains_key(&child(place, name))
            || self.map.modules.get(place).is_some_and(inside)
    }

    fn touch(&mut self, place: Place, touch: Touch) {
        self.found.push(Target { place, touch });
    }
}

fn is_up(segment: &str) -> bool {
    segment == "self" || segment == "super"
}

fn child(place: &Place, name: &str) -> Place {
    let mut child = place.clone();
    child.push(name.to_owned());
    child
}
