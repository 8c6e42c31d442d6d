//! A recorded response.

/// A recorded response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// The idempotency key, including the principal: 1 to 512 bytes.
    pub key: String,
    /// The fencing token of the lock under which the request ran.
    pub token: i64,
    /// The encoded response. To refuse another request with the same key, add a hash of the request to it.
    pub response: Vec<u8>,
}
