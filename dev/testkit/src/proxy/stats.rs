//! The statistics of a proxy.

/// Counters since the start of the proxy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Connections accepted from clients.
    pub connections: u64,
    /// Connections that are open, at least to the server.
    pub open: u64,
    /// Messages that came from clients.
    pub requests: u64,
    /// Replies of the server, without pushes.
    pub replies: u64,
    /// Push messages of the server.
    pub pushes: u64,
    /// Requests that were not forwarded.
    pub lost_requests: u64,
    /// Replies that were not forwarded to a connected client.
    pub lost_replies: u64,
    /// Pushes that were not forwarded to a connected client.
    pub lost_pushes: u64,
    /// Messages that are currently held.
    pub held: u64,
    /// Messages that were held and then delivered, and are not answered yet.
    pub delivering: u64,
    /// Bytes written to the server.
    pub bytes_to_server: u64,
    /// Bytes written to clients.
    pub bytes_to_client: u64,
}
