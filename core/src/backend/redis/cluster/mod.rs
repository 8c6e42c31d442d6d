//! A Redis Cluster: who has which slot, and a connection to each.
//!
//! # Implementation details
//!
//! Of our own, over the same [`Node`](super::client::ServerClient) as a single server, and not the redis crate's: that one sends a
//! command again up to sixteen times, without a bound in time, and its copies would not be accounted for. Here a
//! command is sent once, and again only to whom a `MOVED` names, which has surely not done it.
//!
//! Sharded channels have connections of their own. A server that gives a slot away ends the subscriptions in it
//! unasked, and the redis crate takes that for the answer to whatever command is under way.

mod hash_slot;
mod nodes;
mod query_nodes;
mod redirection;
mod shard_subscriptions;
mod slot_channels;
mod slot_map;
mod subscriber;
mod url;

#[cfg(test)]
pub(super) use hash_slot::of as slot_of;
pub(super) use nodes::Cluster;
