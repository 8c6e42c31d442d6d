//! The primary that Sentinels name.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Where the primary is, since which failover.
#[derive(Debug, Clone)]
pub(crate) struct Primary {
    pub(super) epoch: u64,
    pub(super) host: String,
    pub(super) port: u16,
}

impl Primary {
    pub(crate) fn place(&self) -> u64 {
        let mut number = DefaultHasher::new();
        (&self.host, self.port).hash(&mut number);
        number.finish()
    }

    /// Whether a failover since `other` has led elsewhere.
    pub(super) fn replaces(&self, other: &Self) -> bool {
        self.epoch > other.epoch && !self.is_at(other)
    }

    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.host, self.port) == (&other.host, other.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_later_failover_replaces_a_primary() {
        let primary = |epoch, port| Primary {
            epoch,
            host: "h".to_owned(),
            port,
        };
        assert!(primary(2, 7).replaces(&primary(1, 6)));
        assert!(!primary(1, 7).replaces(&primary(1, 6)));
        assert!(!primary(0, 7).replaces(&primary(1, 6)));
        assert!(!primary(2, 6).replaces(&primary(1, 6)));
    }
}
