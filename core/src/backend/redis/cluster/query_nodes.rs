//! Picks the nodes that are asked for the slot map.

use std::collections::HashSet;

use super::slot_map::NodeAddr;

/// How many members are asked.
const ASKED: usize = 5;

/// Masters that are known and seeds, in turn: of either all may be gone.
pub(super) fn pick_query_nodes(
    mut masters: Vec<NodeAddr>,
    mut seeds: Vec<NodeAddr>,
) -> Vec<NodeAddr> {
    fastrand::shuffle(&mut masters);
    fastrand::shuffle(&mut seeds);
    let turns = masters.len().max(seeds.len());
    let mut seen = HashSet::new();
    (0..turns)
        .flat_map(|turn| [masters.get(turn), seeds.get(turn)])
        .flatten()
        .filter(|place| seen.insert(*place))
        .take(ASKED)
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(host: &str, count: u16) -> Vec<NodeAddr> {
        (0..count).map(|port| (host.to_owned(), port)).collect()
    }

    #[test]
    fn seeds_are_asked_however_many_masters_are_known() {
        let seeds = places("seed", 2);
        let asked = pick_query_nodes(places("master", 9), seeds.clone());
        assert_eq!(asked.len(), ASKED);
        assert!(seeds.iter().all(|seed| asked.contains(seed)), "{asked:?}");
    }

    #[test]
    fn everyone_has_a_turn() {
        let (masters, seeds) = (places("master", 9), places("seed", 9));
        let asked: HashSet<_> = (0..1_000)
            .flat_map(|_| pick_query_nodes(masters.clone(), seeds.clone()))
            .collect();
        assert_eq!(asked.len(), 18);
    }

    #[test]
    fn nobody_is_asked_twice_and_few_are_all_asked() {
        let three = places("member", 3);
        for (masters, seeds) in [(3, 1), (0, 3), (3, 0), (3, 3)] {
            let (masters, seeds) = (places("member", masters), places("member", seeds));
            let mut asked = pick_query_nodes(masters, seeds);
            asked.sort();
            assert_eq!(asked, three);
        }
    }
}
