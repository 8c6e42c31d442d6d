//! What the server keeps for one lock: the keys that the scripts read and write.

/// The most attempts that a world has.
pub(crate) const MOST: usize = 3;

/// A key without a TTL.
pub(crate) const FOR_EVER: u8 = u8::MAX;

/// The value of the lock's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Holder {
    /// There is no key.
    Nobody,
    /// The id of one of our attempts.
    Attempt(u8),
    /// Whatever a foreign program wrote there.
    Foreign,
}

/// A line of attempts, the first in front.
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

/// The keys of one lock. Times are ticks until they end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Server {
    /// The lock's key,
    pub(crate) holder: Holder,
    /// and its TTL.
    pub(crate) left: u8,
    /// The fence record: the last token, 0 if there is no record,
    pub(crate) token: u8,
    /// and who drew it.
    pub(crate) drawer: u8,
    /// The waiters, in the order in which they came,
    pub(crate) queue: Row,
    /// and what is left of the lease on each one's place.
    pub(crate) places: [u8; MOST],
    /// How long the tombstone of each attempt lasts.
    pub(crate) seals: [u8; MOST],
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

    /// Whether the record says that `who` drew the last token.
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

    /// A tick passes.
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
    }
}

/// An index as it is kept in the world.
pub(crate) fn id(who: usize) -> u8 {
    u8::try_from(who).unwrap_or(u8::MAX)
}
