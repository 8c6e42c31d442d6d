//! What a proxy has seen.

/// Counters since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Connections accepted from clients.
    pub connections: u64,
    /// Connections still there, if only at the server's side.
    pub open: u64,
    /// Messages that came from clients.
    pub requests: u64,
    /// Messages that came from the server, pushes not counted.
    pub replies: u64,
    /// Messages that came from the server without having been asked for.
    pub pushes: u64,
    /// Requests that were not forwarded.
    pub lost_requests: u64,
    /// Replies that were not forwarded, though the client was there.
    pub lost_replies: u64,
    /// Pushes that were not forwarded, though the client was there.
    pub lost_pushes: u64,
    /// Messages held back at this moment.
    pub held: u64,
    /// Messages that were held back, are let go, and have not been answered.
    pub delivering: u64,
    /// Bytes written to the server.
    pub bytes_to_server: u64,
    /// Bytes written to clients.
    pub bytes_to_client: u64,
}
