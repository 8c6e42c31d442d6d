//! Tests on real databases: fenced statements and transactions.

mod fence;
mod locked;
mod paused;
mod races;
mod statements;
