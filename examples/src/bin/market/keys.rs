//! The keys in Redis: the market, and the inventory and purse of each player.

/// The keys of one cell. Other cells use other keys.
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

    /// Returns a pattern for all keys. Keys of locks have a brace before their name.
    pub(crate) fn all(&self) -> String {
        format!("*{}*", self.prefix)
    }

    /// Returns the prefix of the locks.
    pub(crate) fn locks(&self) -> String {
        format!("{}lock:", self.prefix)
    }

    /// Returns the key of a sorted set with the offered items, by price.
    pub(crate) fn market(&self) -> String {
        format!("{}market", self.prefix)
    }

    /// Returns the key of a set with the items of a player that are not for sale.
    pub(crate) fn inventory(&self, player: &str) -> String {
        format!("{}inventory:{player}", self.prefix)
    }

    /// Returns the key of a hash with the money of a player.
    pub(crate) fn purse(&self, player: &str) -> String {
        format!("{}purse:{player}", self.prefix)
    }
}

/// Returns the name of an item, which begins with the name of its seller.
pub(crate) fn item(seller: &str, number: i64) -> String {
    format!("{seller}.{number}")
}

pub(crate) fn seller_of(item: &str) -> &str {
    item.split_once('.').map_or(item, |(seller, _)| seller)
}
