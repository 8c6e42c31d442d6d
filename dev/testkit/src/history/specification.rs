//! The specification of a lock for a sequence of events. All histories are compared with it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The mode of a held lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// One holder.
    #[default]
    Exclusive,
    /// Several holders that share the lock.
    Shared,
    /// Permits of a semaphore.
    Permits {
        /// The number of permits of this holder.
        count: u32,
        /// The total number of permits.
        of: u32,
    },
}

impl Mode {
    /// Returns whether a lock may be held in this mode together with `others`.
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

    /// Returns whether a grant in this mode may have the same token as an earlier grant in mode `earlier`. Readers may
    /// share a token.
    #[must_use]
    pub fn may_share_token(self, earlier: Self) -> bool {
        (self, earlier) == (Self::Shared, Self::Shared)
    }
}

/// A violation by a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach<Id> {
    /// The grant is not allowed together with this holder.
    Overlap(Id),
    /// The token is not larger than an earlier one.
    Token,
}

/// The state of one lock.
#[derive(Debug, Clone)]
pub struct Specification<Id> {
    holders: Vec<(Id, Mode)>,
    largest: Option<i64>,
    /// The largest token of exclusive holders.
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
    /// Grants the lock to a holder, with a token if it is known. Returns the violations.
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

    /// Like [`grant`](Self::grant) for a reader that is recorded after later grants. It may be a downgraded writer,
    /// which has kept its smaller token.
    pub fn note_reader(&mut self, id: Id, token: i64) -> Vec<Breach<Id>> {
        let is_stale = Some(token) < self.largest_exclusive;
        let mut found = self.grant(id, Mode::Shared, None);
        found.extend(is_stale.then_some(Breach::Token));
        self.largest = self.largest.max(Some(token));
        found
    }

    /// Records a token that was drawn for a grant, and returns the violation. Readers share a token above the tokens of
    /// all earlier writers.
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

    /// Removes the holders for which `keep` returns `false`.
    pub fn retain(&mut self, mut keep: impl FnMut(&Id) -> bool) {
        self.holders.retain(|(id, _)| keep(id));
    }

    /// Returns the largest token so far.
    #[must_use]
    pub fn largest(&self) -> Option<i64> {
        self.largest
    }
}

/// A queue of waiters, in the order of arrival.
#[derive(Debug, Clone, Default)]
pub struct Queue(VecDeque<String>);

impl Queue {
    /// Adds a waiter. A waiter that is already in the queue keeps its position.
    pub fn enter(&mut self, waiter: &str) {
        if !self.0.iter().any(|it| it == waiter) {
            self.0.push_back(waiter.to_owned());
        }
    }

    /// Removes a waiter, and returns whether it was the first.
    pub fn leave(&mut self, waiter: &str) -> bool {
        let was_first = self.0.front().is_some_and(|it| it == waiter);
        self.0.retain(|it| it != waiter);
        was_first
    }

    /// Returns how many waiters are ahead of `waiter`.
    #[must_use]
    pub fn ahead_of(&self, waiter: &str) -> usize {
        self.0.iter().take_while(|it| *it != waiter).count()
    }

    /// Returns whether the queue is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
