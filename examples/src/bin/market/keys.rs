//! Where everything is in Redis: what the market offers, what a player has, and what it owns.

/// The keys of one cell, which nobody else uses.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    /// All of them, as a pattern: what belongs to a lock has a brace before its name.
    pub(crate) fn all(&self) -> String {
        format!("*{}*", self.prefix)
    }

    /// What locks begin with.
    pub(crate) fn locks(&self) -> String {
        format!("{}lock:", self.prefix)
    }

    /// A sorted set: what is for sale, by price.
    pub(crate) fn market(&self) -> String {
        format!("{}market", self.prefix)
    }

    /// A set: the items of a player that are not for sale.
    pub(crate) fn inventory(&self, player: &str) -> String {
        format!("{}inventory:{player}", self.prefix)
    }

    /// A hash with the money of a player.
    pub(crate) fn purse(&self, player: &str) -> String {
        format!("{}purse:{player}", self.prefix)
    }
}

/// An item's name begins with its seller's.
pub(crate) fn item(seller: &str, number: i64) -> String {
    format!("{seller}.{number}")
}

pub(crate) fn seller_of(item: &str) -> &str {
    item.split_once('.').map_or(item, |(seller, _)| seller)
}
