//! What a lock may do, one event after another: the specification that every history is held against.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// How a lock is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// By one holder alone.
    #[default]
    Exclusive,
    /// Beside others that share it.
    Shared,
    /// By permits of a semaphore.
    Permits {
        /// So many.
        count: u32,
        /// Of so many.
        of: u32,
    },
}

impl Mode {
    /// Whether a lock may be held in this mode beside holders in `others`.
    pub fn fits(self, others: impl IntoIterator<Item = Self>) -> bool {
        let mut others = others.into_iter();
        match self {
            Self::Exclusive => others.next().is_none(),
            Self::Shared => others.all(|it| it == Self::Shared),
            Self::Permits { count, of } => {
                let taken = others.map(|it| match it {
                    Self::Permits { count, .. } => count,
                    Self::Exclusive | Self::Shared => of,
                });
                taken.sum::<u32>() + count <= of
            }
        }
    }

    /// Whether one that acquires in this mode after a grant in mode `earlier` may have the same token: readers share it.
    #[must_use]
    pub fn may_share_token(self, earlier: Self) -> bool {
        (self, earlier) == (Self::Shared, Self::Shared)
    }
}

/// What a grant violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach<Id> {
    /// This holder does not go together with it.
    Overlap(Id),
    /// Its token is not greater than an earlier one.
    Token,
}

/// The state of one lock.
#[derive(Debug, Clone)]
pub struct Specification<Id> {
    holders: Vec<(Id, Mode)>,
    largest: Option<i64>,
    /// Of those that held it alone.
    largest_exclusive: Option<i64>,
}

impl<Id> Default for Specification<Id> {
    fn default() -> Self {
        Self {
            holders: Vec::new(),
            largest: None,
            largest_exclusive: None,
        }
    }
}

impl<Id: Clone> Specification<Id> {
    /// The holder is granted the lock, with a token if one is known.
    pub fn grant(&mut self, id: Id, mode: Mode, token: Option<i64>) -> Vec<Breach<Id>> {
        let mut found = Vec::new();
        if !mode.fits(self.holders.iter().map(|(_, mode)| *mode)) {
            let in_the_way = self.holders.iter().filter(|(_, other)| match mode {
                Mode::Shared => *other != Mode::Shared,
                _ => true,
            });
            found.extend(in_the_way.map(|(id, _)| Breach::Overlap(id.clone())));
        }
        self.holders.push((id, mode));
        found.extend(token.and_then(|token| self.draw(mode, token)));
        found
    }

    /// As [`grant`](Self::grant) of a reader that is noted after others that were granted the lock later. It may have
    /// been a writer, and have kept its smaller token.
    pub fn note_reader(&mut self, id: Id, token: i64) -> Vec<Breach<Id>> {
        let is_stale = Some(token) < self.largest_exclusive;
        let mut found = self.grant(id, Mode::Shared, None);
        found.extend(is_stale.then_some(Breach::Token));
        self.largest = self.largest.max(Some(token));
        found
    }

    /// A token is drawn for a grant: what that violates. Readers share one, above that of every writer before them.
    pub fn draw(&mut self, mode: Mode, token: i64) -> Option<Breach<Id>> {
        let token = Some(token);
        let grows = match mode {
            Mode::Shared => token >= self.largest && token > self.largest_exclusive,
            Mode::Exclusive | Mode::Permits { .. } => token > self.largest,
        };
        self.largest = self.largest.max(token);
        if mode == Mode::Exclusive {
            self.largest_exclusive = self.largest_exclusive.max(token);
        }
        (!grows).then_some(Breach::Token)
    }

    /// Those that `keep` says are over hold nothing any more.
    pub fn retain(&mut self, mut keep: impl FnMut(&Id) -> bool) {
        self.holders.retain(|(id, _)| keep(id));
    }

    /// The largest token so far.
    #[must_use]
    pub fn largest(&self) -> Option<i64> {
        self.largest
    }
}

/// Waiters, which are served in the order in which they came.
#[derive(Debug, Clone, Default)]
pub struct Queue(VecDeque<String>);

impl Queue {
    /// A waiter comes. One that waits already keeps its position.
    pub fn enter(&mut self, waiter: &str) {
        if !self.0.iter().any(|it| it == waiter) {
            self.0.push_back(waiter.to_owned());
        }
    }

    /// A waiter leaves. Whether it was the first.
    pub fn leave(&mut self, waiter: &str) -> bool {
        let was_first = self.0.front().is_some_and(|it| it == waiter);
        self.0.retain(|it| it != waiter);
        was_first
    }

    /// How many wait that `waiter` may not overtake.
    #[must_use]
    pub fn ahead_of(&self, waiter: &str) -> usize {
        self.0.iter().take_while(|it| *it != waiter).count()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
