//! The data of the server for one lock: the keys that the scripts read and write.

/// The maximum number of attempts in a world.
pub(crate) const MOST: usize = 3;

/// A key without a TTL.
pub(crate) const FOR_EVER: u8 = u8::MAX;

/// The value of the lock's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    /// The key does not exist.
    Nobody,
    /// The id of an attempt.
    Attempt(u8),
    /// The value of a foreign program.
    Foreign,
}

/// A queue of attempts, with the first one at the front.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Row {
    places: [u8; MOST],
    len: u8,
}

impl Row {
    pub(crate) const EMPTY: Self = Self {
        places: [0; MOST],
        len: 0,
    };

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.places[..usize::from(self.len)]
            .iter()
            .map(|&who| usize::from(who))
    }

    pub(crate) fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    pub(crate) fn contains(&self, who: usize) -> bool {
        self.iter().any(|it| it == who)
    }

    pub(crate) fn push(&mut self, who: usize) {
        self.places[usize::from(self.len)] = id(who);
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, who: usize) {
        let mut rest = Self::default();
        self.iter()
            .filter(|&it| it != who)
            .for_each(|it| rest.push(it));
        *self = rest;
    }

    pub(crate) fn renamed(&self, names: &[usize; MOST]) -> Self {
        let mut row = Self::default();
        self.iter().for_each(|it| row.push(names[it]));
        row
    }
}

/// The keys of one lock. Times are in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Server {
    /// The lock's key.
    pub(crate) holder: Holder,
    /// The TTL of the lock's key.
    pub(crate) left: u8,
    /// The fence record: the last token, or 0 if there is no record.
    pub(crate) token: u8,
    /// The attempt that drew the last token.
    pub(crate) drawer: u8,
    /// The waiters in the order of arrival.
    pub(crate) queue: Row,
    /// The remaining lease of each queue position.
    pub(crate) places: [u8; MOST],
    /// How long the tombstone of each attempt lasts.
    pub(crate) seals: [u8; MOST],
    /// The token of the kept outcome, or 0 if there is none.
    pub(crate) outcome: u8,
    /// The TTL of the outcome.
    pub(crate) kept: u8,
}

impl Server {
    pub(crate) const EMPTY: Self = Self {
        holder: Holder::Nobody,
        left: 0,
        token: 0,
        drawer: 0,
        queue: Row::EMPTY,
        places: [0; MOST],
        seals: [0; MOST],
        outcome: 0,
        kept: 0,
    };

    pub(crate) fn is_held_by(&self, who: usize) -> bool {
        self.holder == Holder::Attempt(id(who))
    }

    pub(crate) fn set_lock(&mut self, who: usize, ttl: u8) {
        (self.holder, self.left) = (Holder::Attempt(id(who)), ttl);
    }

    pub(crate) fn delete_lock(&mut self) {
        (self.holder, self.left) = (Holder::Nobody, 0);
    }

    /// Returns whether `who` drew the last token, according to the record.
    pub(crate) fn was_drawn_by(&self, who: usize) -> bool {
        self.token > 0 && self.drawer == id(who)
    }

    pub(crate) fn has_live_place(&self, who: usize) -> bool {
        self.queue.contains(who) && self.places[who] > 0
    }

    pub(crate) fn renamed(&self, names: &[usize; MOST]) -> Self {
        let mut new = *self;
        for (old, &name) in names.iter().enumerate() {
            new.places[name] = self.places[old];
            new.seals[name] = self.seals[old];
        }
        if let Holder::Attempt(who) = self.holder {
            new.holder = Holder::Attempt(id(names[usize::from(who)]));
        }
        if self.token > 0 {
            new.drawer = id(names[usize::from(self.drawer)]);
        }
        new.queue = self.queue.renamed(names);
        new
    }

    /// Lets one tick pass.
    pub(crate) fn age(&mut self) {
        if self.left != FOR_EVER && self.left > 0 {
            self.left -= 1;
            if self.left == 0 {
                self.delete_lock();
            }
        }
        for left in self.places.iter_mut().chain(&mut self.seals) {
            *left = left.saturating_sub(1);
        }
        self.kept = self.kept.saturating_sub(1);
        if self.kept == 0 {
            self.outcome = 0;
        }
    }
}

/// Returns the id of an attempt as it is stored.
pub(crate) fn id(who: usize) -> u8 {
    u8::try_from(who).unwrap_or(u8::MAX)
}
