//! Decides which nodes of a key hold the lock, by the rule of the `ZooKeeper` lock recipe. This module does not need a
//! server.

use super::node_names::QueueNode;
use leasehold_core::AttemptId;
use leasehold_core::backend::Mode;

/// All positions for one key, in the order in which the server created them.
#[derive(Debug, Default)]
pub(super) struct NodeQueue {
    places: Vec<QueueNode>,
    /// Whether the writer at the front was downgraded to a reader.
    downgraded: bool,
}

/// The meaning of a position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueuePosition<'a> {
    Holds,
    /// The waiter waits until this node has been deleted or downgraded.
    Behind(&'a QueueNode),
    /// The waiter waits until some of the nodes before this position have been deleted.
    InTheCrowd,
    /// The nodes before this position use the key as the other kind, lock or semaphore.
    OtherKind,
}

impl NodeQueue {
    pub(super) fn of(names: &[String]) -> Self {
        let mut places: Vec<QueueNode> = names.iter().filter_map(|n| QueueNode::read(n)).collect();
        // The numbers of two nodes that exist at the same time differ by less than half of all numbers.
        if let Some(origin) = places.first().map(|p| p.number) {
            places.sort_by_key(|p| p.number.wrapping_sub(origin));
        }
        Self {
            places,
            downgraded: false,
        }
    }

    pub(super) fn first(&self) -> Option<&QueueNode> {
        self.places.first()
    }

    /// Returns the writer at the front, which may have been downgraded. The node's data records a downgrade.
    pub(super) fn writer_in_front(&self) -> Option<&QueueNode> {
        let first = self.first()?;
        (first.mode == Mode::Exclusive && first.owner.is_some()).then_some(first)
    }

    pub(super) fn front_is_downgraded(&mut self) {
        self.downgraded = true;
    }

    /// Returns the position of the node with this name.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.places.iter().position(|place| place.name == name)
    }

    /// Returns the positions with an attempt's id. An expired session may have left a node on the server, and other
    /// waiters may still wait for that node. That node does not count for the attempt's position in this session.
    pub(super) fn places_of(&self, owner: AttemptId) -> impl Iterator<Item = &QueueNode> {
        self.places.iter().filter(move |p| p.owner == Some(owner))
    }

    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the readers before a position, the nearest first. The caller takes their token, because concurrent
    /// readers have the same token.
    pub(super) fn readers_before(&self, position: usize) -> impl Iterator<Item = &QueueNode> {
        let before = self.places.iter().take(position).rev();
        before.filter(|p| p.mode == Mode::Shared)
    }

    pub(super) fn standing(&self, position: usize) -> QueuePosition<'_> {
        let (Some(own), before) = (
            self.places.get(position),
            self.places.get(..position).unwrap_or_default(),
        ) else {
            return QueuePosition::InTheCrowd;
        };
        if before.iter().any(|p| !p.mode.is_like(own.mode)) {
            return QueuePosition::OtherKind;
        }
        match own.mode {
            Mode::Exclusive => before
                .last()
                .map_or(QueuePosition::Holds, QueuePosition::Behind),
            Mode::Shared => {
                let alone = |(at, p): &(usize, &QueueNode)| {
                    p.mode == Mode::Exclusive && !(self.downgraded && *at == 0)
                };
                let mut writers = before.iter().enumerate().rev().filter(alone);
                writers.next().map_or(QueuePosition::Holds, |(_, writer)| {
                    QueuePosition::Behind(writer)
                })
            }
            Mode::Permits { .. } => {
                let mut taken = 0_u64;
                // No waiter overtakes a waiter with an incompatible mode.
                let all_fit = self.places.iter().take(position + 1).all(|place| {
                    let Mode::Permits { count, of } = place.mode else {
                        return false;
                    };
                    taken += u64::from(count);
                    taken <= u64::from(of)
                });
                if all_fit {
                    QueuePosition::Holds
                } else {
                    QueuePosition::InTheCrowd
                }
            }
        }
    }

    /// Returns the holders, in order.
    pub(super) fn holders(&self) -> impl Iterator<Item = &QueueNode> {
        let all = self.places.iter().enumerate();
        all.filter(|(at, _)| self.standing(*at) == QueuePosition::Holds)
            .map(|(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node_names::node;

    fn queue(modes: &[Mode], first: i32) -> NodeQueue {
        let name = |(at, mode): (usize, &Mode)| {
            let number = first.wrapping_add(i32::try_from(at).unwrap());
            format!("{}{number:010}", node(*mode, AttemptId::random()))
        };
        let mut names: Vec<String> = modes.iter().enumerate().map(name).collect();
        names.reverse();
        NodeQueue::of(&names)
    }

    fn holding(queue: &NodeQueue) -> Vec<bool> {
        let standing = (0..queue.len()).map(|at| queue.standing(at));
        standing.map(|s| s == QueuePosition::Holds).collect()
    }

    const X: Mode = Mode::Exclusive;
    const S: Mode = Mode::Shared;

    const fn p(count: u32, of: u32) -> Mode {
        Mode::Permits { count, of }
    }

    #[test]
    fn the_holders_follow_from_node_order_and_modes() {
        for (modes, holds) in [
            (&[X, X][..], &[true, false][..]),
            (&[S, S, X, S], &[true, true, false, false]),
            (&[X, S, S], &[true, false, false]),
            (&[p(2, 3), p(1, 3), p(1, 3)], &[true, true, false]),
            // The second waiter is not compatible, and the third does not overtake it.
            (&[p(2, 3), p(2, 3), p(1, 3)], &[true, false, false]),
            // The queue checks each attempt against the attempt's own limit.
            (&[p(1, 2), p(1, 1), p(1, 3)], &[true, false, false]),
            (&[p(1, 2), X], &[true, false]),
            (&[X, p(1, 2)], &[true, false]),
        ] {
            assert_eq!(holding(&queue(modes, 7)), holds, "{modes:?}");
        }
    }

    #[test]
    fn the_node_order_continues_when_sequence_numbers_overflow() {
        let queue = queue(&[X, X, X, X], i32::MAX - 1);
        assert_eq!(holding(&queue), [true, false, false, false]);
        let numbers: Vec<i32> = queue.places.iter().map(|p| p.number).collect();
        assert_eq!(numbers, [i32::MAX - 1, i32::MAX, i32::MIN, i32::MIN + 1]);
    }

    #[test]
    fn a_writer_waits_for_the_one_before_it_and_a_reader_for_the_last_writer() {
        let queue = queue(&[S, X, S, S], 0);
        let behind = |at: usize| match queue.standing(at) {
            QueuePosition::Behind(place) => place.number,
            other => panic!("{other:?}"),
        };
        assert_eq!((behind(1), behind(2), behind(3)), (0, 1, 1));
    }

    #[test]
    fn readers_hold_the_lock_together_with_a_downgraded_writer() {
        let mut queue = queue(&[X, S, X, S], 0);
        queue.front_is_downgraded();
        assert_eq!(holding(&queue), [true, true, false, false]);
    }
}
