//! The servers there are tests for.

/// A server program, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Server {
    /// What people call it.
    pub name: &'static str,
    /// Its program.
    pub program: &'static str,
    /// The environment variable which names the program to use instead.
    pub variable: &'static str,
    /// The oldest version that will do.
    pub least: (u32, u32),
    /// The Debian package it is in.
    pub package: &'static str,
    /// The service this package would start, which we keep from running.
    pub service: Option<&'static str>,
}

/// Redis.
pub const REDIS: Server = Server {
    name: "Redis",
    program: "redis-server",
    variable: "LEASEHOLD_REDIS_SERVER",
    least: (6, 2),
    package: "redis-server",
    service: Some("redis-server"),
};

/// Every server the tests need.
pub const SERVERS: [Server; 1] = [REDIS];
