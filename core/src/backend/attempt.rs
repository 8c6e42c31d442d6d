use std::time::Duration;

use crate::{FencingToken, Key, OwnerId};

/// One acquisition, made before its first byte is sent and unchanged until it ends.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Attempt {
    /// What is to be locked.
    pub key: Key,
    /// Who asks: never the same for two attempts.
    pub owner: OwnerId,
    /// How long the lease is to last, from the moment the backend grants it.
    pub ttl: Duration,
    /// Whether a busy answer enters the caller into the queue. If not, it leaves nothing behind.
    pub queue: bool,
}

impl Attempt {
    /// An attempt under a fresh owner id.
    #[must_use]
    pub fn new(key: Key, ttl: Duration, queue: bool) -> Self {
        Self {
            key,
            owner: OwnerId::random(),
            ttl,
            queue,
        }
    }

    /// What this attempt holds once it was granted `token`.
    #[must_use]
    pub fn claim(&self, token: FencingToken) -> Claim {
        Claim {
            key: self.key.clone(),
            owner: self.owner,
            ttl: self.ttl,
            token,
        }
    }
}

/// What a granted attempt holds, as it is renewed and released.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Claim {
    /// What is locked.
    pub key: Key,
    /// Who holds it.
    pub owner: OwnerId,
    /// How long each renewal makes the lease last.
    pub ttl: Duration,
    /// The token it was granted.
    pub token: FencingToken,
}
